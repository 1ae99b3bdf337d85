//! Measured values and what is said of them.

/// Values of one kind, at least one.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Sorts the values.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> anyhow::Result<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        anyhow::ensure!(!values.is_empty(), "nothing was measured");
        values.sort_by(f64::total_cmp);
        Ok(Self(values))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.quantile(0.95)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    pub(crate) fn largest(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// The smallest value that a share of `quantile` does not exceed (nearest rank).
    fn quantile(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.0.len() as f64).ceil() as usize;
        self.0[rank.clamp(1, self.0.len()) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let samples = Samples::new((1..=200).rev().map(f64::from)).unwrap();
        assert_eq!(
            (samples.count(), samples.median(), samples.p95(), samples.p99(), samples.largest()),
            (200, 100.0, 190.0, 198.0, 200.0)
        );
        let one = Samples::new([7.0]).unwrap();
        assert_eq!((one.median(), one.p99()), (7.0, 7.0));
        assert!(Samples::new([]).is_err());
    }
}
