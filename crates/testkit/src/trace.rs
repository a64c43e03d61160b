//! Power over time, in steps that repeat. The scripted vendors' libraries take this file by its path:
//! they are packages without dependencies.

/// Joules from 0 to `seconds` of a trace of seconds and watts, from the beginning again at its end.
pub(crate) fn energy(steps: &[(f64, f64)], seconds: f64) -> f64 {
    let round: f64 = steps.iter().map(|(length, _)| length).sum();
    let per_round: f64 = steps.iter().map(|(length, watts)| length * watts).sum();
    let rounds = (seconds / round).floor();
    let mut left = seconds - rounds * round;
    let mut energy = rounds * per_round;
    for (length, watts) in steps {
        let taken = left.min(*length);
        energy += taken * watts;
        left -= taken;
    }
    energy
}
