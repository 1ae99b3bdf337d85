//! Which data folder the database belongs to: repositories lie there, and work that is done in another folder is lost
//! to everybody else.

use crate::{Store, StoreError};

/// The name of the row.
const DATA_FOLDER: &str = "data-folder";

impl Store {
    /// Writes down that this database belongs to the data folder with this identity, unless it belongs to one already.
    /// Returns the identity of the one that it belongs to.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn settle_in(&self, folder: &str) -> Result<String, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query("INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
            .bind(DATA_FOLDER)
            .bind(folder)
            .execute(&mut *tx)
            .await?;
        let settled = sqlx::query_scalar("SELECT value FROM installation WHERE name = $1")
            .bind(DATA_FOLDER)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(settled)
    }

    /// Lets the database belong to another data folder from now on.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn move_to(&self, folder: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO installation (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(DATA_FOLDER)
        .bind(folder)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }
}
