//! `--name` and `--tag`.

use std::collections::BTreeMap;

use ipw::naming;
use ipw::secrets::refuse_secret;
use ipw_core::setting::Setting;

use crate::args::{KeyValue, ProfileArgs};
use crate::error::CliError;

/// The name of the run, checked.
pub(super) fn name(args: &ProfileArgs) -> Result<Option<String>, CliError> {
    let name = args.name.as_deref().map(str::trim);
    Ok(name.map(naming::checked).transpose()?)
}

/// The tags of the run; a duplicate key is an error.
pub(super) fn tags(args: &ProfileArgs) -> Result<BTreeMap<String, String>, CliError> {
    let mut tags = BTreeMap::new();
    for KeyValue { key, value } in &args.tag {
        refuse_secret(Setting::Tag, key, value)?;
        naming::check_tag(key, value)?;
        if tags.insert(key.clone(), value.clone()).is_some() {
            return Err(CliError::usage(format!("`--tag {key}=…` is given twice"))
                .help("give each key one value"));
        }
    }
    Ok(tags)
}
