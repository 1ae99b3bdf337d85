//! Fits what an agent could be shown into a budget: everything in its shortest form first, then longer forms, each time
//! the most important first. So long texts are cut before anything is dropped.

use std::cmp::Reverse;

/// What has a size when it is shown.
pub(super) trait Shown {
    /// Bytes that it has in a prompt at most, with what the prompt puts around it.
    fn bytes(&self) -> usize;
}

/// A text on a line of its own.
impl Shown for String {
    fn bytes(&self) -> usize {
        self.len() + LINE
    }
}

/// What a prompt puts around a line at most, such as `- T12 [COMPLETED] … | `.
pub(super) const LINE: usize = 24;

/// Things that are offered; the most important ones were offered first.
pub(super) struct Fit {
    budget: usize,
    offers: Vec<Offer>,
}

struct Offer {
    /// By form, the shortest first.
    costs: Vec<usize>,
    is_required: bool,
    chosen: Option<usize>,
}

/// One kind of things, in the order in which they are shown.
pub(super) struct Section<T> {
    name: &'static str,
    /// The place of its offer, and its forms.
    items: Vec<(usize, Vec<T>)>,
}

impl Fit {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, offers: Vec::new() }
    }

    /// Offers one thing that is shown in its shortest form whatever the budget is.
    pub(super) fn require<T: Shown>(&mut self, forms: Vec<T>) -> Section<T> {
        let section = self.offer("", vec![forms], |_| 0);
        if let Some(offer) = self.offers.last_mut() {
            offer.is_required = true;
        }
        section
    }

    /// Offers things, each in forms from the shortest to the longest; those with a low rank matter most. `name` is
    /// what they are called, in the plural, where some are left out.
    pub(super) fn offer<T: Shown, K: Ord>(
        &mut self,
        name: &'static str,
        items: Vec<Vec<T>>,
        rank: impl Fn(usize) -> K,
    ) -> Section<T> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|index| rank(*index));
        let mut place = vec![0; items.len()];
        for index in order {
            place[index] = self.offers.len();
            let costs = items[index].iter().map(Shown::bytes).collect();
            self.offers.push(Offer { costs, is_required: false, chosen: None });
        }
        Section { name, items: place.into_iter().zip(items).collect() }
    }

    /// Offers things of which the last ones matter most.
    pub(super) fn offer_latest<T: Shown>(&mut self, name: &'static str, items: Vec<Vec<T>>) -> Section<T> {
        self.offer(name, items, Reverse)
    }

    /// Decides what is shown, and in which form.
    pub(super) fn decide(mut self) -> Fitted {
        let mut left = self.budget;
        for offer in &mut self.offers {
            let Some(&cost) = offer.costs.first() else { continue };
            if cost <= left || offer.is_required {
                offer.chosen = Some(0);
                left = left.saturating_sub(cost);
            }
        }
        let most = self.offers.iter().map(|offer| offer.costs.len()).max().unwrap_or(0);
        for form in 1..most {
            for offer in &mut self.offers {
                let (Some(chosen), Some(&cost)) = (offer.chosen, offer.costs.get(form)) else { continue };
                let more = cost.saturating_sub(offer.costs[chosen]);
                if more <= left {
                    left -= more;
                    offer.chosen = Some(form);
                }
            }
        }
        Fitted { offers: self.offers, left_out: Vec::new(), shortened: 0 }
    }
}

/// What was decided.
pub(super) struct Fitted {
    offers: Vec<Offer>,
    left_out: Vec<String>,
    shortened: usize,
}

impl Fitted {
    /// What is shown of a section.
    pub(super) fn taken<T>(&mut self, section: Section<T>) -> Vec<T> {
        let all = section.items.len();
        let mut taken = Vec::new();
        for (place, mut forms) in section.items {
            if let Some(chosen) = self.offers[place].chosen {
                self.shortened += usize::from(chosen + 1 < forms.len());
                taken.push(forms.swap_remove(chosen));
            }
        }
        let missing = all - taken.len();
        if missing > 0 {
            self.left_out.push(format!("{missing} of {all} {}", section.name));
        }
        taken
    }

    /// The same for a section of one thing.
    pub(super) fn one<T>(&mut self, section: Section<T>) -> Option<T> {
        self.taken(section).pop()
    }

    /// What was left out, in words.
    pub(super) fn left_out(mut self) -> Vec<String> {
        match self.shortened {
            0 => {}
            1 => self.left_out.push("the end of one text, where […] stands".to_owned()),
            texts => self.left_out.push(format!("the ends of {texts} texts, where […] stands")),
        }
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(sizes: &[usize]) -> Vec<String> {
        sizes.iter().map(|size| "x".repeat(size - LINE)).collect()
    }

    fn shown(fitted: &mut Fitted, section: Section<String>) -> Vec<usize> {
        fitted.taken(section).iter().map(Shown::bytes).collect()
    }

    #[test]
    fn short_forms_come_before_long_ones_and_important_things_first() {
        let play = |budget| {
            let mut fit = Fit::new(budget);
            let first = fit.offer("new findings", vec![sized(&[50, 100]), sized(&[50, 100])], |index| index);
            let second = fit.offer_latest("old findings", vec![sized(&[50, 60]), sized(&[50, 60])]);
            let mut fitted = fit.decide();
            (shown(&mut fitted, first), shown(&mut fitted, second), fitted.left_out().join("; "))
        };
        assert_eq!(play(320), (vec![100, 100], vec![60, 60], String::new()));
        let cut = "the end of one text, where […] stands".to_owned();
        assert_eq!(play(310), (vec![100, 100], vec![50, 60], cut));
        let cut = "the ends of 3 texts, where […] stands";
        assert_eq!(play(250), (vec![100, 50], vec![50, 50], cut.to_owned()));
        assert_eq!(play(155), (vec![50, 50], vec![50], format!("1 of 2 old findings; {cut}")));
        let gone = "1 of 2 new findings; 2 of 2 old findings; the end of one text, where […] stands";
        assert_eq!(play(60), (vec![50], vec![], gone.to_owned()));
    }

    #[test]
    fn what_is_required_is_there_without_any_room() {
        let mut fit = Fit::new(10);
        let objective = fit.require(sized(&[50, 100]));
        let rest = fit.offer_latest("messages", vec![sized(&[30])]);
        let mut fitted = fit.decide();
        assert_eq!(fitted.one(objective).map(|text| text.bytes()), Some(50));
        assert!(shown(&mut fitted, rest).is_empty());
    }
}
