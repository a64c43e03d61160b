//! Names and tags of runs, and the suffixes that distinguish their directories.

use std::path::Path;

use ipw_core::plan::{Arrivals, Plan, Process};
use ipw_core::setting::Setting;
use ipw_core::slug::{run_directory, slug};

use crate::clients;
use crate::error::Error;

/// Limit on the characters of a name that become part of a directory name.
const LONGEST: usize = 40;

/// Validates a name.
pub fn checked(name: &str) -> Result<String, Error> {
    let reason = if name.is_empty() {
        format!("`{}` is empty", Setting::Name)
    } else if name.chars().any(char::is_control) {
        format!(
            "`{}` has a control character",
            Setting::Name.to(name.escape_debug())
        )
    } else if name.contains(['/', '\\']) {
        format!("`{}` has a slash", Setting::Name.to(name))
    } else if name.starts_with('.') {
        format!("`{}` begins with a dot", Setting::Name.to(name))
    } else {
        return Ok(name.to_owned());
    };
    Err(Error::invalid(reason).with_help(format!(
        "use a text such as `baseline` or `llama, 4 GPUs`; set `{}` for a directory",
        Setting::OutputDir
    )))
}

/// Refuses an invalid tag.
pub fn check_tag(key: &str, value: &str) -> Result<(), Error> {
    let usage = |what: &str| {
        let pair = format!("{key}={value}");
        let tag = Setting::Tag.to(pair.escape_debug());
        let error = Error::invalid(format!("`{tag}` has {what}"));
        let example = Setting::Tag.to("driver=550.54");
        Err(error.with_help(format!("write a key and a text, for example `{example}`")))
    };
    if key.trim().is_empty() {
        return usage("an empty key");
    }
    if key.chars().chain(value.chars()).any(char::is_control) {
        return usage("a control character");
    }
    Ok(())
}

/// Refuses a stored plan with an invalid name or tag.
pub fn check(plan: &Plan) -> Result<(), Error> {
    plan.name.as_deref().map(checked).transpose()?;
    let mut tags = plan.tags.iter();
    tags.try_for_each(|(key, value)| check_tag(key, value))
}

/// The name of a run's directory: hardware, model, dataset, and a suffix that distinguishes the
/// run.
pub fn directory(plan: &Plan, hardware: &str, dataset: &str) -> String {
    let usual = run_directory(hardware, &plan.model, dataset);
    let client = client_suffix(&plan.client.id);
    match &plan.name {
        Some(name) => format!("{usual}_{}", name_slug(name)),
        None => format!("{usual}{client}{}", load_suffix(&plan.load.arrivals)),
    }
}

/// The name of a sweep's directory. Loads are in the names of its steps.
pub fn sweep_directory(plan: &Plan, dataset: &str, axis: &str) -> String {
    let dataset = Path::new(dataset).file_stem();
    let dataset = dataset.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let apart = match &plan.name {
        Some(name) => format!("_{}", name_slug(name)),
        None => client_suffix(&plan.client.id),
    };
    let model = slug(&ipw_core::slug::model_label(&plan.model), "model");
    format!("sweep_{model}_{}_{axis}{apart}", slug(&dataset, "dataset"))
}

fn name_slug(name: &str) -> String {
    let start: String = name.chars().take(LONGEST).collect();
    slug(&start, "run")
}

/// Empty for the embedded engine, which is the default.
fn client_suffix(client: &str) -> String {
    match client {
        clients::EMBEDDED => String::new(),
        client => format!("_{}", slug(client, "client")),
    }
}

/// Empty for one query at a time, which is the default.
fn load_suffix(arrivals: &Arrivals) -> String {
    let cap = |most: &Option<std::num::NonZeroUsize>| {
        most.map_or(String::new(), |most| format!("_c{most}"))
    };
    match arrivals {
        Arrivals::Sequential => String::new(),
        Arrivals::Closed { concurrency } => format!("_c{concurrency}"),
        Arrivals::Open {
            rate,
            process,
            concurrency,
        } => {
            let rate = slug(&rate.per_second().to_string(), "rate");
            let spread = match process {
                Process::Poisson => String::new(),
                other => format!("_{}", slug(&other.to_string(), "process")),
            };
            format!("_r{rate}{spread}{}", cap(concurrency))
        }
        Arrivals::Trace { path, concurrency } => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            match slug(&stem, "").as_str() {
                "" | "trace" => format!("_trace{}", cap(concurrency)),
                stem => format!("_trace_{stem}{}", cap(concurrency)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use ipw_core::plan::Rate;

    use super::*;

    #[test]
    fn loads_are_told_apart_and_the_default_has_no_suffix() {
        let four = NonZeroUsize::new(4);
        let open = |rate: f64, process, concurrency| Arrivals::Open {
            rate: Rate::try_from(rate).unwrap(),
            process,
            concurrency,
        };
        let trace = |path: &str| Arrivals::Trace {
            path: path.into(),
            concurrency: None,
        };
        for (arrivals, wanted) in [
            (Arrivals::Sequential, ""),
            (
                Arrivals::Closed {
                    concurrency: four.unwrap(),
                },
                "_c4",
            ),
            (open(5.0, Process::Poisson, None), "_r5"),
            (open(0.5, Process::Constant, four), "_r0_5_constant_c4"),
            (open(2.0, Process::Gamma(0.5), None), "_r2_gamma_0_5"),
            (trace("trace.txt"), "_trace"),
            (trace("/tmp/last tuesday.txt"), "_trace_last_tuesday"),
        ] {
            assert_eq!(load_suffix(&arrivals), wanted);
        }
    }

    #[test]
    fn names_are_texts_of_one_line_and_no_paths() {
        for good in ["baseline", "llama, 4 GPUs", "v1.2", "Грузия", "a..b"] {
            assert_eq!(checked(good).unwrap(), good);
        }
        for wrong in [
            "", "a/b", "a\\b", ".hidden", "..", "a\nb", "\u{7}", "a\u{85}b",
        ] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }
}
