//! Parses atoms: names, numbers, strings, and expressions in brackets.

use super::ast::{Clause, Comprehension, ComprehensionKind, DictItem, Expr, ExprKind, Item};
use super::parser::Parser;
use super::token::Token;
use crate::error::Result;
use crate::place::Place;

impl Parser {
    pub(super) fn atom(&mut self) -> Result<Expr> {
        let place = self.place();
        let kind = match self.peek().clone() {
            Token::Int(value) => ExprKind::Int(value),
            Token::Float(value) => ExprKind::Float(value),
            Token::Text(_) | Token::Format { .. } => return self.strings(),
            Token::Op("(") => return self.nested(Parser::in_parentheses),
            Token::Op("[") => return self.nested(Parser::in_brackets),
            Token::Op("{") => return self.nested(Parser::in_braces),
            Token::Op("None") => ExprKind::None,
            Token::Op("True") => ExprKind::Bool(true),
            Token::Op("False") => ExprKind::Bool(false),
            Token::Op(word @ ("..." | "await" | "yield")) => {
                return Err(self.unavailable(&format!("\"{word}\"")));
            }
            Token::Name(name) => {
                self.checked_name(&name)?;
                ExprKind::Name(name)
            }
            Token::Op(_) | Token::Newline | Token::Indent | Token::Dedent | Token::End => {
                return Err(self.unexpected("a value"));
            }
        };
        self.next();
        self.node(place, 0, kind)
    }

    pub(super) fn item(&mut self) -> Result<Item> {
        if self.eat("*") {
            return Ok(Item::Unpacked(self.disjunction()?));
        }
        Ok(Item::Value(self.expression()?))
    }

    /// Parses the rest of a tuple after its first item, or returns that item alone.
    pub(super) fn tuple_after(&mut self, place: Place, first: Item) -> Result<Expr> {
        if !self.sees(",") {
            return match first {
                Item::Value(value) => Ok(value),
                Item::Unpacked(_) => Err(self.wrong("\"*\" is only for lists, tuples and calls")),
            };
        }
        let mut items = vec![first];
        while self.eat(",") {
            if self.at_tuple_end() {
                break;
            }
            items.push(self.item()?);
        }
        let below = items_depth(&items);
        self.node(place, below, ExprKind::Tuple(items))
    }

    fn at_tuple_end(&self) -> bool {
        matches!(
            self.peek(),
            Token::Op(")" | "]" | "}" | ":" | "=" | ";") | Token::Newline | Token::End
        )
    }

    fn in_parentheses(&mut self) -> Result<Expr> {
        let place = self.place();
        let at_argument = std::mem::take(&mut self.at_argument);
        self.expect("(")?;
        if self.eat(")") {
            return self.node(place, 0, ExprKind::Tuple(Vec::new()));
        }
        let first = self.item()?;
        let first = match first {
            Item::Value(element) if at_argument && self.sees("for") => {
                let value =
                    self.comprehension(place, ComprehensionKind::Generator, element, None)?;
                self.expect(")")?;
                return Ok(value);
            }
            _ if self.sees("for") => {
                return Err(self.refused(
                    "a generator may only be the argument of a call: write a list, [... for ...]",
                ));
            }
            first => first,
        };
        let value = self.tuple_after(place, first)?;
        self.expect(")")?;
        Ok(value)
    }

    fn in_brackets(&mut self) -> Result<Expr> {
        let place = self.place();
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.sees("]") {
            let item = self.item()?;
            if self.sees("for") {
                let Item::Value(element) = item else {
                    return Err(self.wrong("\"*\" cannot be repeated by \"for\""));
                };
                if !items.is_empty() {
                    return Err(self.unexpected("\",\""));
                }
                let value = self.comprehension(place, ComprehensionKind::List, element, None)?;
                self.expect("]")?;
                return Ok(value);
            }
            items.push(item);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        let below = items_depth(&items);
        self.node(place, below, ExprKind::List(items))
    }

    fn in_braces(&mut self) -> Result<Expr> {
        let place = self.place();
        self.expect("{")?;
        if self.eat("}") {
            return self.node(place, 0, ExprKind::Dict(Vec::new()));
        }
        if self.sees("**") {
            return self.dict(place, Vec::new());
        }
        let first = self.item()?;
        let first = match first {
            Item::Value(key) if self.eat(":") => {
                let value = self.expression()?;
                if self.sees("for") {
                    let made =
                        self.comprehension(place, ComprehensionKind::Dict, key, Some(value))?;
                    self.expect("}")?;
                    return Ok(made);
                }
                if !self.sees("}") {
                    self.expect(",")?;
                }
                return self.dict(place, vec![DictItem::Pair(key, value)]);
            }
            Item::Value(element) if self.sees("for") => {
                let made = self.comprehension(place, ComprehensionKind::Set, element, None)?;
                self.expect("}")?;
                return Ok(made);
            }
            other => other,
        };
        let mut items = vec![first];
        while self.eat(",") && !self.sees("}") {
            items.push(self.item()?);
        }
        self.expect("}")?;
        let below = items_depth(&items);
        self.node(place, below, ExprKind::Set(items))
    }

    fn dict(&mut self, place: Place, mut items: Vec<DictItem>) -> Result<Expr> {
        while !self.sees("}") {
            if self.eat("**") {
                items.push(DictItem::Unpacked(self.disjunction()?));
            } else {
                let key = self.expression()?;
                self.expect(":")?;
                items.push(DictItem::Pair(key, self.expression()?));
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect("}")?;
        let depth = |item: &DictItem| match item {
            DictItem::Pair(key, value) => key.depth.max(value.depth),
            DictItem::Unpacked(value) => value.depth,
        };
        let below = items.iter().map(depth).max().unwrap_or(0);
        self.node(place, below, ExprKind::Dict(items))
    }

    /// Parses `for x in y if z …` after the element.
    pub(super) fn comprehension(
        &mut self,
        place: Place,
        kind: ComprehensionKind,
        element: Expr,
        value: Option<Expr>,
    ) -> Result<Expr> {
        let mut below = element
            .depth
            .max(value.as_ref().map_or(0, |value| value.depth));
        let mut clauses = Vec::new();
        loop {
            if self.eat("for") {
                let target = self.for_target()?;
                self.expect("in")?;
                let iterable = self.disjunction()?;
                below = below.max(iterable.depth);
                clauses.push(Clause::For(target, iterable));
            } else if self.eat("if") {
                let condition = self.disjunction()?;
                below = below.max(condition.depth);
                clauses.push(Clause::If(condition));
            } else {
                break;
            }
            below += 1;
            if clauses.len() > 20 {
                return Err(self.wrong("more than 20 \"for\" and \"if\" in one comprehension"));
            }
        }
        let made = Comprehension {
            kind,
            element,
            value,
            clauses,
        };
        self.node(
            place,
            below,
            ExprKind::Comprehension(std::sync::Arc::new(made)),
        )
    }
}

fn items_depth(items: &[Item]) -> u16 {
    let depth = |item: &Item| match item {
        Item::Value(value) | Item::Unpacked(value) => value.depth,
    };
    items.iter().map(depth).max().unwrap_or(0)
}
