//! Files derived from a run's rows: `report.html`, `analysis/`, `plots/`.
//!
//! Every command that changes rows calls [`refresh`], so that no derived file shows old numbers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ipw_core::rollup::Choice;
use ipw_core::setting::Setting;
use ipw_core::text::{printable, with_causes};
use ipw_findings::look::analyses::{ALL, Analysis, content};
use ipw_findings::look::{Look, LookOptions};
use ipw_report::figures::{self, Picture};
use ipw_report::run as report;
use ipw_store::{Overview, Run, StoreError, file};
use serde::Serialize;
use serde_json::Value;

/// Whether `report.html` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// Write it.
    Always,
    /// Write it again if it exists.
    IfThere,
    /// Do not write it, and remove an existing one.
    Never,
}

/// The derived files that changed, by their names in the run directory.
#[derive(Debug, Default, Serialize)]
pub struct DerivedFiles {
    /// Files that were written again.
    pub rewritten: Vec<String>,
    /// Files that were removed because they would show old numbers.
    pub removed: Vec<String>,
    /// One note for each removed file, with the reason.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// One warning for each file that could not be written or removed.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Path of `report.html`, if it was written.
    #[serde(skip)]
    pub page: Option<PathBuf>,
}

/// Writes derived files again after rows have changed, or removes those that cannot be written.
///
/// Only existing files are written, except `report.html` if `wanted` asks for it. `overview` must
/// describe the rows after the change.
pub fn refresh(directory: &Path, overview: &Overview, wanted: Page) -> DerivedFiles {
    let mut done = DerivedFiles::default();
    let run = match Run::open(directory) {
        Ok(run) => run,
        Err(error) => {
            let error = with_causes(&error);
            done.warnings.push(format!("no report: {error}"));
            return done;
        }
    };
    done.page(&run, overview, wanted);
    let own = run.choice();
    let mut analyses = analyses(directory);
    let plots = plots(directory);
    let is_other = |stored: &StoredAnalysis| stored.basis.is_some_and(|basis| basis != own);
    let others: Vec<_> = analyses
        .extract_if(.., |(_, stored)| is_other(stored))
        .collect();
    if !analyses.is_empty() || !plots.is_empty() {
        let wanted = analyses.iter().filter_map(|(_, stored)| stored.analysis);
        let wanted = wanted
            .map(Analysis::wanted)
            .fold(LookOptions::FIGURES, LookOptions::and);
        match Look::at(&run, Some(overview.clone()), wanted, &mut []) {
            Ok(look) => {
                done.analyses(directory, &look, &analyses);
                done.plots(directory, &look, &plots);
            }
            Err(error) => {
                let why = with_causes(&error);
                let analyses = analyses.iter().map(|(name, _)| name);
                for name in analyses.chain(plots.iter().map(|(name, ..)| name)) {
                    done.remove(directory, name, &why);
                }
            }
        }
    }
    for other in others {
        done.on_its_basis(directory, other);
    }
    done
}

/// Opens the run on the basis of a derived file, with the overview on that basis.
fn counted_on(directory: &Path, basis: Choice) -> Result<(Run, Overview), StoreError> {
    let run = Run::open(directory)?.on(basis)?;
    let overview = Overview::of(&run)?;
    Ok((run, overview))
}

impl DerivedFiles {
    /// The rewritten files in one line, for people; `None` if there are none.
    pub fn line(&self) -> Option<String> {
        (!self.rewritten.is_empty()).then(|| printable(&self.rewritten.join(", ")))
    }

    fn page(&mut self, run: &Run, overview: &Overview, wanted: Page) {
        let name = report::FILE;
        let path = run.directory().join(name);
        let is_there = path.is_file();
        match wanted {
            Page::Never if is_there => {
                self.remove(
                    run.directory(),
                    name,
                    &format!("requested by `{}`", Setting::NoReport),
                );
            }
            Page::IfThere | Page::Never if !is_there => {}
            _ => {
                let redact = is_there && is_redacted(&path);
                let basis = basis_of(&path).filter(|basis| *basis != run.choice());
                let written = match basis {
                    Some(basis) => counted_on(run.directory(), basis)
                        .and_then(|(run, overview)| report::write(&run, &overview, redact)),
                    None => report::write(run, overview, redact),
                };
                match written {
                    Ok(path) => {
                        self.page = Some(path);
                        if is_there {
                            self.rewritten.push(name.to_owned());
                        }
                    }
                    Err(error) => {
                        let error = with_causes(&error);
                        self.warnings.push(format!("no report: {error}"));
                        if is_there {
                            self.remove(run.directory(), name, "it cannot be written again");
                        }
                    }
                }
            }
        }
    }

    /// Writes an analysis again that was made on another basis than the run's own.
    fn on_its_basis(&mut self, directory: &Path, other: (String, StoredAnalysis)) {
        let basis = other.1.basis.unwrap_or_default();
        let counted = counted_on(directory, basis);
        let look = counted
            .as_ref()
            .map_err(|error| with_causes(error))
            .and_then(|(run, overview)| {
                let wanted = other
                    .1
                    .analysis
                    .map_or(LookOptions::FIGURES, Analysis::wanted);
                Look::at(run, Some(overview.clone()), wanted, &mut [])
                    .map_err(|error| with_causes(&error))
            });
        match look {
            Ok(look) => self.analyses(directory, &look, &[other]),
            Err(why) => self.remove(directory, &other.0, &why),
        }
    }

    fn analyses(&mut self, directory: &Path, look: &Look<'_>, found: &[(String, StoredAnalysis)]) {
        for (name, stored) in found {
            let Some(analysis) = stored.analysis else {
                self.remove(directory, name, "this version of ipw has no such analysis");
                continue;
            };
            let made = content(look, analysis, &stored.options)
                .map_err(anyhow::Error::from)
                .and_then(|found| {
                    let mut text = Vec::new();
                    found.write(&mut text)?;
                    Ok(text)
                })
                .with_context(|| format!("computing `{}`", analysis.id));
            self.put(directory, name, made);
        }
    }

    fn plots(&mut self, directory: &Path, look: &Look<'_>, found: &[(String, &str, Picture)]) {
        let is_wanted = |id: &str| found.iter().any(|(_, wanted, _)| *wanted == id);
        let drawings = figures::of(look, is_wanted);
        for (name, id, format) in found {
            match drawings.iter().find(|drawing| drawing.id == *id) {
                Some(drawing) => {
                    let made = figures::content(*format, |style| drawing.svg(style))
                        .with_context(|| format!("drawing `{id}`"));
                    self.put(directory, name, made);
                }
                None => self.remove(directory, name, "it has no data any more"),
            }
        }
    }

    fn put(&mut self, directory: &Path, name: &str, made: anyhow::Result<Vec<u8>>) {
        let put = made.and_then(|content| {
            let path = directory.join(name);
            if let Some(inside) = path.parent().filter(|inside| *inside != directory) {
                file::refuse_link(inside)?;
            }
            Ok(file::replace(&path, &content, false)?)
        });
        match put {
            Ok(()) => self.rewritten.push(name.to_owned()),
            Err(error) => self.remove(directory, name, &format!("{error:#}")),
        }
    }

    fn remove(&mut self, directory: &Path, name: &str, why: &str) {
        match fs::remove_file(directory.join(name)) {
            Ok(()) => {
                self.notes.push(format!("removed `{name}`: {why}"));
                self.removed.push(name.to_owned());
            }
            Err(error) => self.warnings.push(format!(
                "`{name}` shows old numbers ({why}) and cannot be removed: {error}"
            )),
        }
    }
}

/// Whether a page has texts and names redacted. A page that cannot be read counts as redacted, so
/// that nothing private is written into it.
fn is_redacted(page: &Path) -> bool {
    read(page).is_none_or(|html| ipw_report::is_redacted(&html))
}

fn read(page: &Path) -> Option<String> {
    String::from_utf8(file::read(page).ok()?).ok()
}

/// The basis of a page, if it names one.
fn basis_of(page: &Path) -> Option<Choice> {
    ipw_report::basis(&read(page)?)
}

/// A file written by `ipw analyze`.
struct StoredAnalysis {
    /// The basis of the analysis, if it names one.
    basis: Option<Choice>,
    /// `None` if this version has no such analysis.
    analysis: Option<&'static Analysis>,
    options: Vec<(String, u64)>,
}

/// The files of `ipw analyze` in a run. Other files in `analysis/` belong to the user and are left
/// alone.
fn analyses(directory: &Path) -> Vec<(String, StoredAnalysis)> {
    let inside = directory.join("analysis");
    let entries = (!inside.is_symlink()).then(|| fs::read_dir(inside));
    let entries = entries.into_iter().flatten().flatten().flatten();
    let mut found: Vec<(String, StoredAnalysis)> = entries
        .filter_map(|entry| {
            let file_name = entry.file_name();
            let id = file_name.to_str()?.strip_suffix(".json")?.to_owned();
            let analysis = ALL.iter().find(|analysis| analysis.id == id);
            let content = file::read(&entry.path()).ok();
            let content = content.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            let content = content.unwrap_or_default();
            let is_ours = content["analysis"] == id.as_str() && content["ipw"].is_string();
            if analysis.is_none() && !is_ours {
                return None;
            }
            let options = content["options"].as_object().into_iter().flatten();
            let options = options.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)));
            let stored = StoredAnalysis {
                basis: content["basis"].as_str().and_then(Choice::named),
                analysis,
                options: options.collect(),
            };
            Some((format!("analysis/{id}.json"), stored))
        })
        .collect();
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

/// The files of `ipw plot` in a run, each with the id of its figure.
fn plots(directory: &Path) -> Vec<(String, &'static str, Picture)> {
    let is_linked = directory.join("plots").is_symlink();
    let each = figures::all().flat_map(|(id, _)| Picture::ALL.map(|format| (id, format)));
    let named = each.map(|(id, format)| (format!("plots/{id}.{}", format.extension()), id, format));
    named
        .filter(|(name, ..)| !is_linked && directory.join(name).is_file())
        .collect()
}
