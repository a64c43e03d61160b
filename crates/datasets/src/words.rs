//! The words of synthetic prompts: short and frequent, most of them one token.
//!
//! Their order is part of the meaning of a seed and must never change.

/// Each word occurs once.
pub(crate) const WORDS: [&str; 256] = [
    "able", "acid", "aged", "also", "area", "army", "away", "baby", "back", "ball", "band", "bank",
    "base", "bath", "bear", "beat", "been", "beer", "bell", "belt", "best", "bill", "bird", "blow",
    "blue", "boat", "body", "bond", "bone", "book", "boot", "born", "boss", "both", "bowl", "bulk",
    "burn", "bush", "busy", "call", "calm", "came", "camp", "card", "care", "case", "cash", "cast",
    "cell", "chat", "chip", "city", "club", "coal", "coat", "code", "cold", "come", "cook", "cool",
    "cope", "copy", "core", "cost", "crew", "crop", "dark", "data", "date", "dawn", "days", "dead",
    "deal", "dean", "dear", "debt", "deep", "deny", "desk", "dial", "diet", "dirt", "disc", "disk",
    "does", "done", "door", "dose", "down", "draw", "drew", "drop", "drug", "dual", "duke", "dust",
    "duty", "each", "earn", "ease", "east", "easy", "edge", "else", "even", "ever", "exit", "face",
    "fact", "fair", "fall", "farm", "fast", "fate", "fear", "feed", "feel", "feet", "fell", "felt",
    "file", "fill", "film", "find", "fine", "fire", "firm", "fish", "five", "flat", "flow", "food",
    "foot", "ford", "form", "fort", "four", "free", "from", "fuel", "full", "fund", "gain", "game",
    "gate", "gave", "gear", "gene", "gift", "girl", "give", "glad", "goal", "goes", "gold", "golf",
    "gone", "good", "gray", "grew", "grow", "gulf", "hair", "half", "hall", "hand", "hang", "hard",
    "harm", "hate", "have", "head", "hear", "heat", "held", "help", "here", "hero", "high", "hill",
    "hire", "hold", "hole", "holy", "home", "hope", "host", "hour", "huge", "hunt", "hurt", "idea",
    "inch", "into", "iron", "item", "join", "jump", "jury", "just", "keen", "keep", "kept", "kick",
    "kind", "king", "knee", "knew", "know", "lack", "lady", "laid", "lake", "land", "lane", "last",
    "late", "lead", "left", "less", "life", "lift", "like", "line", "link", "list", "live", "load",
    "loan", "lock", "logo", "long", "look", "lord", "lose", "loss", "lost", "love", "luck", "made",
    "mail", "main", "make", "male", "many", "mark", "mass", "meal", "mean", "meat", "meet", "menu",
    "mere", "mile", "milk", "mill",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_word_is_there_twice() {
        assert_eq!(WORDS.iter().collect::<BTreeSet<_>>().len(), WORDS.len());
    }
}
