//! `--name` and `--tag`.

use std::collections::BTreeMap;

use ipw::naming;
use ipw::secrets::refuse_secret;
use ipw_core::setting::Setting;

use crate::args::{KeyValue, ProfileArgs};
use crate::error::CliError;

/// The name that was given, if it can be one.
pub(super) fn name(args: &ProfileArgs) -> Result<Option<String>, CliError> {
    let name = args.name.as_deref().map(str::trim);
    Ok(name.map(naming::checked).transpose()?)
}

/// The tags that were given, if each key is there once.
pub(super) fn tags(args: &ProfileArgs) -> Result<BTreeMap<String, String>, CliError> {
    let mut tags = BTreeMap::new();
    for KeyValue { key, value } in &args.tag {
        refuse_secret(Setting::Tag, key, value)?;
        naming::check_tag(key, value)?;
        if tags.insert(key.clone(), value.clone()).is_some() {
            return Err(CliError::usage(format!("`--tag {key}=…` is there twice"))
                .help("give each key one value"));
        }
    }
    Ok(tags)
}
