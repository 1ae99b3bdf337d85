//! The models that tasks can ask for.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use nightforge_domain::ModelName;

use crate::problem::Problem;
use crate::waiting::Floor;
use crate::{Api, ModelPage, ModelView};

pub(crate) async fn list(State(api): State<Arc<Api>>) -> Result<Json<ModelPage>, Problem> {
    let floor = Floor::look(&api.store).await?;
    let models = api.models.names(&floor).into_iter().map(|name| view(&api, &floor, name)).collect();
    Ok(Json(ModelPage { models, agents: api.models.agents.clone() }))
}

fn view(api: &Api, floor: &Floor, name: ModelName) -> ModelView {
    let depth = floor.depth(&name);
    let configured = api.models.known.iter().find(|model| model.name == name);
    let mut endpoints = configured.map_or_else(Vec::new, |model| model.endpoints.clone());
    for seen in floor.endpoints(&name) {
        if !seen.url.is_empty() && !endpoints.contains(&seen.url) {
            endpoints.push(seen.url);
        }
    }
    ModelView {
        server_name: configured.map_or_else(|| name.to_string(), |model| model.server_name.clone()),
        endpoints,
        ready: depth.ready,
        running: depth.running,
        name,
    }
}
