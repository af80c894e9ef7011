//! Finds anything by words: processes, namespaces, hosts, businesses, config templates.

use model::Namespace;
use model::config_template::TemplateRow;
use model::topology::{BusinessId, BusinessRow};

use crate::filter::FoldedText;
use crate::{Fleet, HostFilter, HostView};

/// What was found, the first of each kind.
#[derive(Debug, Default)]
pub struct Found<'a> {
    /// `namespace/name`, each once for all its hosts.
    pub names: Vec<String>,
    pub namespaces: Vec<&'a Namespace>,
    pub hosts: Vec<HostView<'a>>,
    pub businesses: Vec<&'a BusinessRow>,
    pub templates: Vec<&'a TemplateRow>,
}

impl Fleet {
    /// The first `limit` of each kind that hold all words, those that begin with the first word before others. Only
    /// namespaces and businesses that are visible.
    pub fn search(
        &self,
        words: &[String],
        limit: usize,
        sees: impl Fn(&Namespace) -> bool,
        sees_business: impl Fn(BusinessId) -> bool,
    ) -> Found<'_> {
        let Some(first) = words.first().map(|word| word.to_lowercase()) else {
            return Found::default();
        };
        let mut folded: Vec<FoldedText> = words.iter().map(|w| FoldedText::new(w)).collect();
        let mut holds = |parts: &[&str]| folded.iter_mut().all(|word| word.is_in(parts));
        let rank = |text: &str| !text.to_lowercase().starts_with(&first);

        let names = self.names_in_use().filter(|name| {
            sees(&name.namespace) && holds(&[name.namespace.as_str(), "/", name.name.as_str()])
        });
        let mut names: Vec<(bool, String)> = names
            .map(|name| {
                let later = rank(name.name.as_str()) && rank(name.namespace.as_str());
                (later, name.to_string())
            })
            .collect();
        names.sort_unstable();
        names.truncate(limit);

        let namespaces = self.namespaces().map(|(namespace, _)| namespace);
        let mut namespaces: Vec<&Namespace> = namespaces
            .filter(|namespace| sees(namespace) && holds(&[namespace.as_str()]))
            .collect();
        namespaces.sort_by_key(|namespace| (rank(namespace.as_str()), namespace.as_str()));
        namespaces.truncate(limit);

        let view = self.view();
        let visible = || view.businesses().filter(|row| sees_business(row.id));
        let mut businesses: Vec<&BusinessRow> = visible()
            .filter(|row| holds(&[&row.name, " ", &row.id.to_string()]))
            .collect();
        businesses.sort_by_key(|row| (rank(&row.name), row.id));
        businesses.truncate(limit);

        let templates = visible().flat_map(|row| view.templates_of(row.id));
        let mut templates: Vec<&TemplateRow> = templates
            .map(|template| &**template)
            .filter(|row| holds(&[&row.template_name, " ", &row.file_name]))
            .collect();
        templates.sort_by_key(|row| (rank(&row.template_name), row.id));
        templates.truncate(limit);

        let filter = HostFilter {
            words: words.to_vec(),
            ..HostFilter::default()
        };
        Found {
            names: names.into_iter().map(|(_, name)| name).collect(),
            namespaces,
            hosts: self.host_page(&filter, &[], 0, limit).1,
            businesses,
            templates,
        }
    }
}
