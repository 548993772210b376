//! A source file as the rules see it: which paths it names, and which macros it calls.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, Macro, UseTree};

pub struct Source {
    /// From the root of the repository.
    pub path: String,
    /// As written, those of `use` spread out.
    pub paths: Vec<Vec<String>>,
    pub macros: Vec<String>,
}

impl Source {
    pub fn parse(path: &str, text: &str) -> Source {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut source = Source {
            path: path.to_owned(),
            paths: Vec::new(),
            macros: Vec::new(),
        };
        source.visit_file(&file);
        source
    }

    /// The crate below `src/` and its first name: (`result`, `report`).
    pub fn room(&self) -> (&str, &str) {
        let below = self.path.trim_start_matches("src/");
        let (of, below) = below.split_once('/').unwrap_or(("", below));
        let room = below.split('/').next().unwrap_or(below);
        (of, room.strip_suffix(".rs").unwrap_or(room))
    }

    fn spread(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.spread(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.paths.push(with(name.ident.to_string())),
            UseTree::Rename(name) => self.paths.push(with(name.ident.to_string())),
            UseTree::Glob(_) => self.paths.push(with("*".to_owned())),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.spread(before, tree);
                }
            }
        }
    }

    /// Macros' arguments are no syntax yet: names that `::` joins.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.keep(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.keep(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.scan(group.stream());
                    }
                }
            }
        }
        self.keep(&mut path);
    }

    fn keep(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_of_tests(&item.attrs) {
            self.spread(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|part| part.ident.to_string())
            .collect();
        if names.len() > 1 {
            self.paths.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(name) = call.path.segments.last() {
            self.macros.push(name.ident.to_string());
        }
        self.scan(call.tokens.clone());
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg
            && attribute
                .parse_args::<TokenStream>()
                .is_ok_and(|of| of.to_string().contains("test"))
    })
}

/// By its name: modules of tests stand in files of their own.
pub fn is_test(path: &str) -> bool {
    path.contains("/tests/")
        || ["tests.rs", "/fixture.rs", "/fake.rs"]
            .iter()
            .any(|end| path.ends_with(end))
}

pub fn files(directory: &Path, found: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .expect("a directory")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else {
            found(&path);
        }
    }
}

pub fn collect(root: &Path, directory: &Path, sources: &mut Vec<Source>) {
    files(directory, &mut |path| {
        let name = path
            .strip_prefix(root)
            .expect("below")
            .display()
            .to_string();
        if path.extension().is_some_and(|end| end == "rs") && !is_test(&name) {
            let text = fs::read_to_string(path).expect("a source");
            sources.push(Source::parse(&name, &text));
        }
    });
}
