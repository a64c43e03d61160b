//! Dev only: a scripted `libnvidia-ml.so`.
//!
//! It is opened by the real NVML collector, through the real wrapper, and answers as its script
//! says: the file that `IPW_FAKE_NVML` names, else the file beside the library that is called as
//! the library with `.script` at the end. The script is looked at again at every call, so that a
//! test can change it while it is in use. `script.rs` has the words; `ipw-testkit` writes them.
//!
//! Every function has the signature of NVIDIA's header. Those that are not here are missing, as in
//! an old library.

#![expect(unsafe_code, reason = "a C library is called with pointers")]

mod call;
mod clock;
mod exports;
mod script;
mod sensor;
#[path = "../../testkit/src/trace.rs"]
mod trace;
