//! Decimal digits of every script, by the general category Nd of Unicode 16.

/// The zero of each row of ten digits, in order.
const ZEROS: [u32; 65] = [
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50,
    0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30,
    0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0,
    0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16130, 0x16A60,
    0x16AC0, 0x16B50, 0x1E140, 0x1E2F0,
];
/// Those after a gap that holds rows of mathematical digits, which compatibility forms make plain.
const LATE_ZEROS: [u32; 4] = [0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0];

/// The ASCII digit of the same value.
pub(super) fn ascii(char: char) -> Option<char> {
    let code = u32::from(char);
    let zeros = ZEROS.iter().chain(&LATE_ZEROS);
    let zero = zeros.take_while(|zero| **zero <= code).last()?;
    char::from_digit(code - zero, 10)
}

/// The ASCII digit of a superscript one.
pub(super) fn of_superscript(char: char) -> Option<char> {
    Some(match char {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴'..='⁹' => char::from_digit(u32::from(char) - 0x2070, 10)?,
        _ => return None,
    })
}

/// The number in a circle: ① to ⑳.
pub(super) fn of_circled(char: char) -> Option<u32> {
    matches!(char, '①'..='⑳').then(|| u32::from(char) - 0x2460 + 1)
}
