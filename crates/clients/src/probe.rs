//! A single GET of a URL, to see whether a server answers.

use std::sync::Arc;
use std::time::Duration;

use ipw_core::params::Params;
use ipw_core::time::Clock;

use crate::http::BaseUrl;
use crate::service::Service;
use crate::{ClientError, ClientSpec, KeySource, Network};

/// The status of a GET of `url`, or the error.
pub async fn probe(
    url: &str,
    limit: Duration,
    clock: Arc<dyn Clock>,
) -> Result<Result<u16, String>, ClientError> {
    let spec = ClientSpec {
        id: "probe".to_owned(),
        base_url: Some(url.to_owned()),
        params: Params::default(),
        key: KeySource::Default,
        insecure_key: false,
        network: Network::default(),
        connect_timeout: limit,
    };
    let service = Service::new(&spec, BaseUrl::parse(url)?, clock)?;
    let answer = service.get("").await;
    Ok(answer
        .map(|(status, _)| status.code)
        .map_err(|error| error.text))
}
