//! Names of settings in the library's texts.
//!
//! The library does not know how its user sets values: by flag, method or configuration file. Its
//! errors and advice refer to a [`Setting`], and the program registers names for settings once
//! ([`name_settings`]). Without registration, a setting has its name in a plan.

use std::fmt;
use std::sync::OnceLock;

/// Returns a program's name of a setting.
pub type Naming = fn(Setting) -> String;

static NAMING: OnceLock<Naming> = OnceLock::new();

/// Registers the names of settings; the first call counts.
pub fn name_settings(naming: Naming) {
    let _ = NAMING.set(naming);
}

macro_rules! settings {
    ($($setting:ident = $name:literal),* $(,)?) => {
        /// A setting of ipw that a user can change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are those of the settings")]
        pub enum Setting { $($setting),* }

        impl Setting {
            /// All settings.
            pub const ALL: &[Self] = &[$(Self::$setting),*];

            /// Its name in a plan or a configuration file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$setting => $name),* }
            }
        }
    };
}

settings! {
    AllowHost = "allow_host",
    Api = "api",
    ApiKeyEnv = "api_key_env",
    ApiKeyFile = "api_key_file",
    Basis = "basis",
    CaFile = "ca_file",
    Client = "client",
    ClientBaseUrl = "client_base_url",
    ClientParam = "client_param",
    Columns = "columns",
    Concurrency = "concurrency",
    CpuTdp = "cpu_tdp",
    Dataset = "dataset",
    DatasetParam = "dataset_param",
    FindSaturation = "find_saturation",
    FirstTokenTimeout = "first_token_timeout",
    Force = "force",
    Format = "format",
    Gpu = "gpu",
    HeaderEnv = "header_env",
    Http2 = "http2",
    Idle = "idle",
    IdleTimeout = "idle_timeout",
    InsecureKey = "insecure_key",
    JudgeBaseUrl = "judge_base_url",
    JudgeModel = "judge_model",
    JudgeParam = "judge_param",
    Launch = "launch",
    MaxErrorRate = "max_error_rate",
    MaxQueries = "max_queries",
    MaxReply = "max_reply",
    Model = "model",
    Name = "name",
    NoEstimate = "no_estimate",
    NoReport = "no_report",
    NoText = "no_text",
    Output = "output",
    OutputDir = "output_dir",
    Overwrite = "overwrite",
    Param = "param",
    Plan = "plan",
    Rate = "rate",
    ReadyTimeout = "ready_timeout",
    ReadyUrl = "ready_url",
    Repeat = "repeat",
    RequestTimeout = "request_timeout",
    RequireEnergy = "require_energy",
    Resume = "resume",
    Retries = "retries",
    Scorer = "scorer",
    ServerMetrics = "server_metrics",
    ServiceHost = "service_host",
    ServicePid = "service_pid",
    Slo = "slo",
    Submission = "submission",
    System = "system",
    Tag = "tag",
    Telemetry = "telemetry",
    Together = "together",
    TokenFile = "token_file",
    Tokenizer = "tokenizer",
    Weights = "weights",
}

impl Setting {
    /// The setting with this value.
    pub const fn to<T: fmt::Display>(self, value: T) -> Set<T> {
        Set {
            setting: self,
            value,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMING.get() {
            Some(naming) => formatter.write_str(&naming(*self)),
            None => formatter.write_str(self.name()),
        }
    }
}

/// A setting with a value, as in `--idle 3s` or `idle=3s`.
#[derive(Debug, Clone, Copy)]
pub struct Set<T> {
    setting: Setting,
    value: T,
}

impl<T: fmt::Display> fmt::Display for Set<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if NAMING.get().is_some() { ' ' } else { '=' };
        write!(formatter, "{}{between}{}", self.setting, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_program_a_setting_is_called_as_in_a_plan() {
        assert_eq!(Setting::Idle.to("3s").to_string(), "idle=3s");
        assert_eq!(Setting::InsecureKey.to_string(), "insecure_key");
        let names = Setting::ALL.iter().map(|setting| setting.name());
        assert!(names.is_sorted_by(|a, b| a < b), "sorted, none twice");
    }
}
