//! Evaluates expressions.

use std::rc::Rc;
use std::sync::Arc;

use super::Interpreter;
use super::builtin::Builtin;
use super::call::Args;
use super::iterate::IterState;
use super::meter::{BoundedText, Reservation};
use super::scope::{Owner, Scope};
use super::value::{Closure, SLOT_BYTES, Str, VALUE_BYTES, Value, depth_over};
use crate::error::{ErrorKind, Problem, Result};
use crate::python::ast::{
    Arg, Clause, Comprehension, ComprehensionKind, DictItem, Expr, ExprKind, FormatPart, Function,
    Item, Name,
};

impl Interpreter<'_> {
    pub(crate) fn evaluate(&self, expr: &Expr, scope: &Rc<Scope>) -> Result<Value> {
        self.meter
            .step(1)
            .map_err(|problem| problem.at(expr.place))?;
        let result = match &expr.kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Int(*value)),
            ExprKind::Float(value) => Ok(Value::Float(*value)),
            ExprKind::Text(text) => Ok(Value::Str(Str::Literal(Arc::clone(text)))),
            ExprKind::Name(name) => self.look_up(name, scope),
            _ => self.deeper(|| self.evaluate_compound(expr, scope)),
        };
        result.map_err(|problem| problem.at(expr.place))
    }

    fn evaluate_compound(&self, expr: &Expr, scope: &Rc<Scope>) -> Result<Value> {
        match &expr.kind {
            ExprKind::Format(parts) => {
                let text = self.format_string(parts, scope)?;
                self.text(text)
            }
            ExprKind::Tuple(items) => self.tuple(self.all_items(items, scope)?),
            ExprKind::List(items) => self.list(self.all_items(items, scope)?),
            ExprKind::Set(items) => self.set_of(self.all_items(items, scope)?),
            ExprKind::Dict(items) => self.dict_display(items, scope),
            ExprKind::Comprehension(made) => self.comprehension(made, scope),
            ExprKind::Lambda(function) => self.closure(function, scope),
            ExprKind::Conditional(parts) => {
                if self.truth(&self.evaluate(&parts.condition, scope)?) {
                    self.evaluate(&parts.then, scope)
                } else {
                    self.evaluate(&parts.otherwise, scope)
                }
            }
            ExprKind::And(parts) => self.first_that(parts, scope, false),
            ExprKind::Or(parts) => self.first_that(parts, scope, true),
            ExprKind::Not(inner) => Ok(Value::Bool(!self.truth(&self.evaluate(inner, scope)?))),
            ExprKind::Unary(op, inner) => self.unary(*op, &self.evaluate(inner, scope)?),
            ExprKind::Binary(op, left, right) => {
                let left = self.evaluate(left, scope)?;
                let right = self.evaluate(right, scope)?;
                self.binary(*op, &left, &right)
            }
            ExprKind::Compare(first, rest) => {
                let mut left = self.evaluate(first, scope)?;
                for (op, right) in rest {
                    let right = self.evaluate(right, scope)?;
                    if !self.compare(*op, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            ExprKind::Call(callee, args) => self.call_expression(callee, args, scope),
            ExprKind::Attribute(owner, name) => {
                let owner = self.evaluate(owner, scope)?;
                self.attribute(&owner, name)
            }
            ExprKind::Index(container, index) => {
                let container = self.evaluate(container, scope)?;
                let index = self.evaluate(index, scope)?;
                self.index(&container, &index)
            }
            ExprKind::Slice(container, parts) => {
                let container = self.evaluate(container, scope)?;
                let mut bounds = [None, None, None];
                for (bound, part) in bounds.iter_mut().zip(parts.iter()) {
                    if let Some(part) = part {
                        *bound = Some(self.evaluate(part, scope)?);
                    }
                }
                self.slice(&container, &bounds)
            }
            ExprKind::None
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Text(_)
            | ExprKind::Name(_) => self.evaluate(expr, scope),
        }
    }

    pub(crate) fn look_up(&self, name: &Name, scope: &Rc<Scope>) -> Result<Value> {
        let mut next = Some(scope);
        while let Some(each) = next {
            if let Some(value) = each.names.borrow().get(name) {
                return Ok(value.clone());
            }
            let local = match &each.owner {
                Owner::Body => self.page.locals.contains(name),
                Owner::Def(def) => def.locals.contains(name),
                Owner::Function(function) => function.locals.contains(name),
                Owner::Comprehension => false,
            };
            if local {
                let message = format!("variable \"{name}\" is read before it has a value");
                let problem = Problem::new(ErrorKind::Undefined, message);
                return Err(problem.coded("read_too_early").with("name", &**name));
            }
            next = each.parent.as_ref();
        }
        self.global(name, scope)
    }

    fn first_that(&self, parts: &[Expr], scope: &Rc<Scope>, wanted: bool) -> Result<Value> {
        let mut value = Value::None;
        for part in parts {
            value = self.evaluate(part, scope)?;
            if self.truth(&value) == wanted {
                break;
            }
        }
        Ok(value)
    }

    fn all_items(&self, items: &[Item], scope: &Rc<Scope>) -> Result<Vec<Value>> {
        let room = Reservation::new(&self.meter, 0)?;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Value(value) => values.push(self.evaluate(value, scope)?),
                Item::Unpacked(value) => {
                    let more = self.items(&self.evaluate(value, scope)?)?;
                    room.grow(more.len() * SLOT_BYTES)?;
                    values.extend(more);
                }
            }
        }
        Ok(values)
    }

    fn dict_display(&self, items: &[DictItem], scope: &Rc<Scope>) -> Result<Value> {
        let dict = self.empty_dict(false)?;
        for item in items {
            match item {
                DictItem::Pair(key, value) => {
                    let key = self.evaluate(key, scope)?;
                    let value = self.evaluate(value, scope)?;
                    self.set_in_dict(&dict, key, value)?;
                }
                DictItem::Unpacked(value) => match self.evaluate(value, scope)? {
                    Value::Dict(more) => self.update_dict(&dict, &more)?,
                    other => return Err(other.mismatch("\"**\" takes a dict")),
                },
            }
        }
        Ok(Value::Dict(dict))
    }

    /// A function with the scope of its definition.
    pub(crate) fn closure(&self, function: &Arc<Function>, scope: &Rc<Scope>) -> Result<Value> {
        let mut defaults = Vec::new();
        for param in &function.params {
            defaults.push(match &param.default {
                Some(value) => Some(self.evaluate(value, scope)?),
                None => None,
            });
        }
        self.track_scope(scope)?;
        Ok(Value::Function(Rc::new(Closure {
            function: Arc::clone(function),
            depth: depth_over(defaults.iter().flatten())?,
            defaults,
            scope: Rc::clone(scope),
            reserved: Reservation::new(&self.meter, VALUE_BYTES)?,
        })))
    }

    fn comprehension(&self, made: &Comprehension, scope: &Rc<Scope>) -> Result<Value> {
        let inner = scope.inside();
        match made.kind {
            ComprehensionKind::List | ComprehensionKind::Set | ComprehensionKind::Generator => {
                let room = Reservation::new(&self.meter, 0)?;
                let mut values = Vec::new();
                self.clauses(&made.clauses, scope, &inner, &mut || {
                    room.grow(SLOT_BYTES)?;
                    values.push(self.evaluate(&made.element, &inner)?);
                    Ok(())
                })?;
                drop(room);
                match made.kind {
                    ComprehensionKind::Set => self.set_of(values),
                    ComprehensionKind::Generator => {
                        self.iterator(IterState::Values(values.into_iter()))
                    }
                    _ => self.list(values),
                }
            }
            ComprehensionKind::Dict => {
                let dict = self.empty_dict(false)?;
                self.clauses(&made.clauses, scope, &inner, &mut || {
                    let key = self.evaluate(&made.element, &inner)?;
                    let value = match &made.value {
                        Some(value) => self.evaluate(value, &inner)?,
                        None => Value::None,
                    };
                    self.set_in_dict(&dict, key, value)
                })?;
                Ok(Value::Dict(dict))
            }
        }
    }

    /// Calls `found` for each iteration of the loops. The iterable of the first loop is evaluated in the outer scope, as in Python.
    fn clauses(
        &self,
        clauses: &[Clause],
        outside: &Rc<Scope>,
        inner: &Rc<Scope>,
        found: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        match clauses {
            [] => found(),
            [Clause::If(condition), rest @ ..] => {
                if self.truth(&self.evaluate(condition, inner)?) {
                    self.clauses(rest, inner, inner, found)?;
                }
                Ok(())
            }
            [Clause::For(target, iterable), rest @ ..] => {
                let iter = self.iter(&self.evaluate(iterable, outside)?)?;
                while let Some(value) = self.next(&iter)? {
                    self.assign(target, value, inner)?;
                    self.clauses(rest, inner, inner, found)?;
                }
                Ok(())
            }
        }
    }

    fn call_expression(&self, callee: &Expr, args: &[Arg], scope: &Rc<Scope>) -> Result<Value> {
        if let ExprKind::Attribute(owner, name) = &callee.kind {
            let owner = self.evaluate(owner, scope)?;
            // Calls the method without allocating a bound method.
            if let Some(method) = owner.method(name) {
                let args = self.args(args, scope)?;
                return self.call_method(&owner, method, args);
            }
            let callee = self.attribute(&owner, name)?;
            let args = self.args(args, scope)?;
            return self.call(&callee, args);
        }
        let callee = self.evaluate(callee, scope)?;
        // These functions may stop early, so their generator is evaluated lazily. All others consume it to its end.
        let may_end_early = matches!(
            callee,
            Value::Builtin(Builtin::Any | Builtin::All | Builtin::Next)
        );
        if may_end_early
            && let Some(Arg::Positional(first)) = args.first()
            && let ExprKind::Comprehension(made) = &first.kind
            && made.kind == ComprehensionKind::Generator
        {
            let mut rest = self.args(&args[1..], scope)?;
            rest.positional.insert(0, self.generator(made, scope)?);
            return self.call(&callee, rest);
        }
        let args = self.args(args, scope)?;
        self.call(&callee, args)
    }

    fn args(&self, args: &[Arg], scope: &Rc<Scope>) -> Result<Args> {
        let mut made = Args::positional(Vec::new());
        for arg in args {
            match arg {
                Arg::Positional(value) => made.positional.push(self.evaluate(value, scope)?),
                Arg::Keyword(name, value) => {
                    made.keywords
                        .push((name.clone(), self.evaluate(value, scope)?));
                }
                Arg::Unpacked(value) => made
                    .positional
                    .extend(self.items(&self.evaluate(value, scope)?)?),
                Arg::UnpackedKeywords(value) => {
                    let Value::Dict(dict) = self.evaluate(value, scope)? else {
                        return Err(Problem::failed("\"**\" takes a dict"));
                    };
                    for (key, value) in dict.pairs.borrow().values() {
                        let Value::Str(name) = key else {
                            return Err(Problem::failed("names of arguments are strings"));
                        };
                        made.keywords.push((Name::from(&**name), value.clone()));
                    }
                }
            }
        }
        Ok(made)
    }

    fn format_string(&self, parts: &[FormatPart], scope: &Rc<Scope>) -> Result<String> {
        let mut out = BoundedText::new(&self.meter);
        for part in parts {
            match part {
                FormatPart::Text(text) => out.push(text)?,
                FormatPart::Field {
                    value,
                    conversion,
                    spec,
                } => {
                    let value = self.evaluate(value, scope)?;
                    let spec = self.format_string(spec, scope)?;
                    out.push(&self.format_field(&value, *conversion, &spec)?)?;
                }
            }
        }
        Ok(out.finish())
    }
}
