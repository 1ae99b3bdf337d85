//! When two addresses are the same page.

use std::borrow::Cow;

use url::Url;

/// Parameters that only tell the server where a visitor came from. Compared in lower case.
const TRACKING: [&str; 26] = [
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "hsctatracking",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "ref_src",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
];

/// The form by which two addresses are the same page: scheme and host in lower case and in IDNA's ASCII form,
/// no default port, no dot at the host's end, no fragment, no tracking parameters, parameters sorted by name,
/// percent-encoding only where it is needed and in upper case.
///
/// Meant for comparing, not for asking. Whatever is not http or https comes back unchanged.
pub fn canonical_url(address: &str) -> String {
    let Ok(mut url) = Url::parse(address.trim()) else { return address.to_owned() };
    if !matches!(url.scheme(), "http" | "https") {
        return address.to_owned();
    }
    url.set_fragment(None);
    if let Some(bare) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
        // A host that does not stand without its dot keeps it.
        let _ = url.set_host(Some(&bare));
    }
    let path = plainly_encoded(url.path()).into_owned();
    url.set_path(&path);
    let query = url.query().and_then(sorted_query);
    url.set_query(query.as_deref());
    url.into()
}

fn sorted_query(query: &str) -> Option<String> {
    let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            // The sign belongs to the value: `a` and `a=` may be two pages.
            let (name, value) = pair.split_at(pair.find('=').unwrap_or(pair.len()));
            (plainly_encoded(name), plainly_encoded(value))
        })
        .filter(|(name, _)| !is_tracking(name))
        .collect();
    // Stable: the order of values of one name can mean something.
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let sorted: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}{value}")).collect();
    (!sorted.is_empty()).then(|| sorted.join("&"))
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING.binary_search(&name.as_str()).is_ok()
}

/// RFC 3986, section 6.2.2: unreserved characters stand for themselves, hexadecimal digits are upper case.
fn plainly_encoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let byte = rest.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    plain.push(char::from(byte));
                } else {
                    plain.push_str(&format!("%{byte:02X}"));
                }
                rest = &rest[at + 3..];
            }
            None => {
                plain.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_tracking_parameters_is_sorted() {
        assert!(TRACKING.is_sorted());
    }

    #[test]
    fn the_same_page() {
        for (one, other) in [
            ("HTTP://Example.COM", "http://example.com/"),
            ("http://example.com:80/a", "http://example.com/a"),
            ("https://example.com:443/a", "https://example.com/a"),
            ("https://example.com/a#part", "https://example.com/a"),
            ("https://example.com./a", "https://example.com/a"),
            ("https://example.com/a?utm_source=x&UTM_Medium=y&gclid=1&fbclid=2", "https://example.com/a"),
            ("https://example.com/a?", "https://example.com/a"),
            ("https://example.com/a?b=2&a=1", "https://example.com/a?a=1&b=2"),
            ("https://example.com/a?&&a=1&", "https://example.com/a?a=1"),
            ("https://example.com/%7euser/%e6%97%a5", "https://example.com/~user/日"),
            ("https://example.com/x/../y/./z", "https://example.com/y/z"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://例え.example/", "https://xn--r8jz45g.example/"),
            (" https://example.com/a\n", "https://example.com/a"),
            ("https://example.com/?q=%41", "https://example.com/?q=A"),
        ] {
            assert_eq!(canonical_url(one), canonical_url(other), "{one} and {other}");
        }
    }

    #[test]
    fn another_page() {
        for (one, other) in [
            ("https://example.com/a", "https://example.com/a/"),
            ("https://example.com/a", "https://example.com/A"),
            ("https://example.com/a%2Fb", "https://example.com/a/b"),
            ("https://example.com:8080/", "https://example.com/"),
            ("https://example.com/?a=1", "https://example.com/?a=2"),
            ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
            ("https://example.com/?a", "https://example.com/?a="),
            ("https://example.com/?utmost=1", "https://example.com/"),
        ] {
            assert_ne!(canonical_url(one), canonical_url(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_is_not_of_the_web_is_unchanged() {
        for address in
            ["demo://Nassau/Pilates?b=1&a=2#x", "Notes/Plan.md#L3-L9", "file:///A/../b", "", "c:\\a"]
        {
            assert_eq!(canonical_url(address), address);
        }
    }

    #[test]
    fn twice_is_once() {
        for address in [
            "https://example.com/%zz%2",
            "https://example.com/%25%37%65?%26=%3D&a=%",
            "https://example.com/ä?ö=ü&utm_a=1",
            "http://a.example/%2e%2E/b",
        ] {
            let once = canonical_url(address);
            assert_eq!(canonical_url(&once), once, "{address}");
        }
    }

    proptest::proptest! {
        #[test]
        fn twice_is_once_whatever_it_is(rest in "[a-zA-Z0-9%/?&=#.:@~+\\\\ '\"äö日-]{0,40}") {
            let once = canonical_url(&format!("http://e.example/{rest}"));
            proptest::prop_assert_eq!(canonical_url(&once), once);
        }
    }
}
