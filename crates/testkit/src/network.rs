//! Another machine on this one: a network namespace behind a pair of virtual interfaces, and a
//! monotonic clock of its own for what runs in it.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::Missing;

/// A machine of its own, as far as the network goes; it vanishes when it is dropped.
pub struct Elsewhere {
    name: String,
    link: String,
    number: u8,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Elsewhere {
    /// Makes one. That takes root and the program `ip`.
    pub fn make() -> Result<Self, Missing> {
        let missing = |why: String| {
            let how = "run the tests as root on Linux, with Debian's package iproute2";
            Missing::new("a network namespace", why, how)
        };
        if !rustix::process::geteuid().is_root() {
            return Err(missing("only root may make one".to_owned()));
        }
        let mut why = String::new();
        for _ in 0..3 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let number = std::process::id().wrapping_mul(31).wrapping_add(count * 7) % 250;
            let made = Self {
                name: format!("ipw-{}-{count}", std::process::id()),
                link: format!("i{:x}-{count}", std::process::id()),
                number: u8::try_from(number).unwrap_or(0),
            };
            match made.set_up() {
                Ok(()) => return Ok(made),
                Err(error) => why = error,
            }
        }
        Err(missing(why))
    }

    fn set_up(&self) -> Result<(), String> {
        let (near, far) = (format!("{}n", self.link), format!("{}f", self.link));
        let (here, there) = (
            format!("{}/30", self.near()),
            format!("{}/30", self.address()),
        );
        ip(&["netns", "add", &self.name])?;
        ip(&["link", "add", &near, "type", "veth", "peer", "name", &far])?;
        ip(&["link", "set", &far, "netns", &self.name])?;
        ip(&["addr", "add", &here, "dev", &near])?;
        ip(&["link", "set", &near, "up"])?;
        let inside = ["netns", "exec", &*self.name, "ip"];
        for words in [
            &["addr", "add", &*there, "dev", &*far][..],
            &["link", "set", &*far, "up"],
            &["link", "set", "lo", "up"],
        ] {
            ip(&[&inside[..], words].concat())?;
        }
        Ok(())
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        Ipv4Addr::new(10, 231, self.number, 2).into()
    }

    /// Our own address on the way there.
    fn near(&self) -> IpAddr {
        Ipv4Addr::new(10, 231, self.number, 1).into()
    }

    /// Makes what leaves it late by the kernel's own means; whether this kernel has them.
    pub fn delay(&self, late: Duration) -> bool {
        let far = format!("{}f", self.link);
        let late = format!("{}us", late.as_micros());
        let words = [
            "netns", "exec", &self.name, "tc", "qdisc", "add", "dev", &far, "root", "netem",
            "delay", &late,
        ];
        ip(&words).is_ok()
    }

    /// A program that runs there. `ahead` is how far its monotonic clock is ahead of ours; one that
    /// is neither has our own.
    pub fn command(&self, program: impl AsRef<OsStr>, ahead: i64) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        if ahead != 0 {
            command.args(["unshare", "--time", "--fork", "--kill-child"]);
            command.arg(format!("--monotonic={ahead}"));
        }
        command.arg(program);
        command
    }

    /// Runs `work` on a thread that is there; sockets that it opens stay there.
    #[cfg(target_os = "linux")]
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
        let path = format!("/var/run/netns/{}", self.name);
        let file = std::fs::File::open(path)?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                use std::os::fd::AsFd as _;
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(file.as_fd(), network)?;
                Ok(work())
            });
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.name]);
        let _ = ip(&["link", "del", &format!("{}n", self.link)]);
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip")
        .args(words)
        .output()
        .map_err(|error| format!("`ip` does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip {}`: {}", words.join(" "), said.trim()))
}
