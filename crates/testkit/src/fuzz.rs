//! Inputs that were damaged at random, the same in every run: a bounded number in every test run,
//! as many as `IPW_MUTATIONS` says when there is time (`cargo xtask fuzz`).

/// How many damaged inputs to try: `usual`, unless `IPW_MUTATIONS` asks for more or fewer.
pub fn rounds(usual: usize) -> usize {
    let asked = std::env::var("IPW_MUTATIONS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(usual)
}

/// Numbers that are the same in every run.
#[derive(Debug, Clone)]
pub struct Random(ipw_core::random::Random);

impl Random {
    /// The numbers of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(ipw_core::random::Random::new(seed))
    }

    /// A number below `limit`, which is not zero.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.up_to(limit - 1)
    }

    /// One of them.
    pub fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// One of `corpus` with one to four accidents: cut off, a byte changed, bytes lost, one of `pieces`
/// put in, or another of the corpus behind it.
pub fn damaged(random: &mut Random, corpus: &[&[u8]], pieces: &[&[u8]]) -> Vec<u8> {
    let mut bytes = random.one_of(corpus).to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(5) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = u8::try_from(random.below(256)).unwrap_or(0),
            2 if !bytes.is_empty() => {
                drop(bytes.drain(at..(at + random.below(20)).min(bytes.len())));
            }
            3 => drop(bytes.splice(at..at, random.one_of(pieces).iter().copied())),
            _ => bytes.extend_from_slice(random.one_of(corpus)),
        }
    }
    bytes
}

/// `whole`, torn off somewhere or with a few bits flipped, half of them near an end, where heads and
/// footers are.
pub fn torn(random: &mut Random, whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    if random.below(4) == 0 || bytes.is_empty() {
        bytes.truncate(random.below(whole.len().max(1)));
        return bytes;
    }
    for _ in 0..=random.below(3) {
        let near = 600.min(bytes.len());
        let place = match random.below(4) {
            0 => random.below(near),
            1 => bytes.len() - 1 - random.below(near),
            _ => random.below(bytes.len()),
        };
        bytes[place] ^= 1 << random.below(8);
    }
    bytes
}
