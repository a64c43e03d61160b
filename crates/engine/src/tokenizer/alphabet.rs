//! The 256 characters with which byte-level vocabularies write bytes.
//!
//! A byte that prints is itself; the others are U+0100 and on, in order: a space is `Ġ`.

/// The character of a byte.
pub(super) fn character(byte: u8) -> char {
    let shifted = |by: u32| char::from_u32(u32::from(byte) + by).unwrap_or_default();
    match byte {
        0x00..=0x20 => shifted(0x100),
        0x7f..=0xa0 => shifted(0x121 - 0x7f),
        0xad => '\u{143}',
        _ => char::from(byte),
    }
}

/// The byte of a character, if it is one of the alphabet.
fn byte(character: char) -> Option<u8> {
    let code = u32::from(character);
    let code = match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => code,
        0x100..=0x120 => code - 0x100,
        0x121..=0x142 => code - 0x121 + 0x7f,
        0x143 => 0xad,
        _ => return None,
    };
    u8::try_from(code).ok()
}

/// The bytes that a token's text stands for; characters outside the alphabet are themselves.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_character_and_comes_back() {
        for value in 0..=u8::MAX {
            assert_eq!(byte(character(value)), Some(value));
        }
        let known = [
            (b' ', 'Ġ'),
            (b'\n', 'Ċ'),
            (b'\t', 'ĉ'),
            (0xad, 'Ń'),
            (b'!', '!'),
        ];
        for (value, expected) in known {
            assert_eq!(character(value), expected);
        }
        assert_eq!(decode("Ġaé漢"), b" a\xe9\xe6\xbc\xa2");
    }
}
