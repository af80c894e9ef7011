//! Puts the examples of `api` into the document: each request body, and the path parameters that go with it.

use api::examples::{Example, example_of};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

pub(super) fn add(document: &mut OpenApi) {
    let operations = document.paths.paths.values_mut().flat_map(operations);
    for operation in operations.filter(|operation| operation.request_body.is_some()) {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        // A test finds operations without one.
        if let Some(example) = example_of(id) {
            add_to(operation, example);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ]
    .into_iter()
    .flatten()
}

fn add_to(operation: &mut Operation, example: &Example) {
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        for content in body.content.values_mut() {
            if let RefOr::T(content) = content {
                content.example = Some(example.body.clone());
            }
        }
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else {
            continue;
        };
        if parameter.parameter_in != ParameterIn::Path {
            continue;
        }
        if let Some(value) = example.path.get(&parameter.name) {
            let with_example = ParameterBuilder::from(std::mem::take(parameter));
            *parameter = with_example.example(Some(value.clone())).build();
        }
    }
}
