//! Columns that stand under each other.

use unicode_width::UnicodeWidthChar;

/// A table under its head. Cells may hold colour codes, which take no room.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|title| width(title)).collect();
    for row in rows {
        for (cell, widest) in row.iter().zip(&mut widths) {
            *widest = (*widest).max(width(cell));
        }
    }
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, widest)| format!("{cell}{}", " ".repeat(widest - width(cell))))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut text = line(head.to_vec());
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

/// Names and values, one pair a line.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> String {
    let widest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let padding = |name: &str| " ".repeat(widest - width(name));
    pairs.iter().map(|(name, value)| format!("{name}{}  {value}\n", padding(name))).collect()
}

fn width(cell: &str) -> usize {
    let mut visible = 0;
    let mut in_code = false;
    for c in cell.chars() {
        match (in_code, c) {
            (false, '\u{1b}') => in_code = true,
            (true, 'm') => in_code = false,
            (true, _) => {}
            // A Chinese or Japanese character takes two columns.
            (false, c) => visible += c.width().unwrap_or(0),
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_whatever_their_colour() {
        let rows = vec![
            vec!["\u{1b}[32mab\u{1b}[0m".to_owned(), "x".to_owned()],
            vec!["abc".to_owned(), "y".to_owned()],
        ];
        let wide = vec![vec!["茶道".to_owned(), "x".to_owned()], vec!["tea".to_owned(), "y".to_owned()]];
        assert_eq!(table(&["A", "B"], &wide), "A     B\n茶道  x\ntea   y\n");
        assert_eq!(table(&["A", "B"], &rows), "A    B\n\u{1b}[32mab\u{1b}[0m   x\nabc  y\n");
    }
}
