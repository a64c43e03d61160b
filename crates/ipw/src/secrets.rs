//! Refuses secrets in visible places.

use ipw_core::secret::looks_secret;
use ipw_core::setting::Setting;

use crate::error::Error;

/// Refuses a setting that looks like a secret. Settings are visible in process lists and are stored
/// with the run.
pub fn refuse_secret(setting: Setting, key: &str, value: &str) -> Result<(), Error> {
    if !looks_secret(key, value) {
        return Ok(());
    }
    let pair = setting.to(format!("{key}=…"));
    Err(Error::invalid(format!("`{pair}` looks like a secret")).with_help(format!(
        "flags are visible to all users of the machine and are stored with the run: use `{}` or `{}`, and `token-file=PATH` for `{}`",
        Setting::ApiKeyEnv.to("NAME"),
        Setting::ApiKeyFile.to("PATH"),
        Setting::Telemetry
    )))
}
