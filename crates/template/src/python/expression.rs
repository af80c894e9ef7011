//! Parses expressions, from conditionals down to primaries.

use super::ast::{
    Arg, BinaryOp, CompareOp, ComprehensionKind, Conditional, Expr, ExprKind, UnaryOp,
};
use super::parser::Parser;
use super::token::Token;
use crate::error::Result;
use crate::place::Place;

impl Parser {
    pub(crate) fn expression(&mut self) -> Result<Expr> {
        self.nested(Parser::conditional)
    }

    /// Parses `a` or `a, b`, where Python allows a tuple without brackets.
    pub(crate) fn expression_or_tuple(&mut self) -> Result<Expr> {
        let place = self.place();
        let first = self.item()?;
        self.tuple_after(place, first)
    }

    fn conditional(&mut self) -> Result<Expr> {
        if self.sees("lambda") {
            return self.lambda();
        }
        let place = self.place();
        let then = self.disjunction()?;
        if matches!(self.peek(), Token::Op(":=")) {
            return Err(self.unavailable("\":=\""));
        }
        if !self.eat("if") {
            return Ok(then);
        }
        let condition = self.disjunction()?;
        self.expect("else")?;
        let otherwise = self.expression()?;
        let below = then.depth.max(condition.depth).max(otherwise.depth);
        let parts = Conditional {
            condition,
            then,
            otherwise,
        };
        self.node(place, below, ExprKind::Conditional(Box::new(parts)))
    }

    pub(super) fn disjunction(&mut self) -> Result<Expr> {
        self.chain("or", Parser::conjunction, ExprKind::Or)
    }

    fn conjunction(&mut self) -> Result<Expr> {
        self.chain("and", Parser::negation, ExprKind::And)
    }

    fn chain(
        &mut self,
        word: &str,
        part: fn(&mut Parser) -> Result<Expr>,
        make: fn(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let place = self.place();
        let first = part(self)?;
        if !self.sees(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat(word) {
            parts.push(part(self)?);
        }
        let below = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        self.node(place, below, make(parts))
    }

    fn negation(&mut self) -> Result<Expr> {
        let place = self.place();
        if !self.eat("not") {
            return self.comparison();
        }
        let inner = self.nested(Parser::negation)?;
        self.node(place, inner.depth, ExprKind::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Expr> {
        let place = self.place();
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        while let Some(op) = self.compare_op() {
            rest.push((op, self.binary(0)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let below = rest.iter().map(|(_, part)| part.depth).max().unwrap_or(0);
        let below = below.max(first.depth);
        self.node(place, below, ExprKind::Compare(Box::new(first), rest))
    }

    fn compare_op(&mut self) -> Option<CompareOp> {
        let op = match self.peek() {
            Token::Op("==") => CompareOp::Equal,
            Token::Op("!=") => CompareOp::NotEqual,
            Token::Op("<") => CompareOp::Less,
            Token::Op("<=") => CompareOp::LessOrEqual,
            Token::Op(">") => CompareOp::Greater,
            Token::Op(">=") => CompareOp::GreaterOrEqual,
            Token::Op("in") => CompareOp::In,
            Token::Op("is") => {
                self.next();
                return Some(if self.eat("not") {
                    CompareOp::IsNot
                } else {
                    CompareOp::Is
                });
            }
            Token::Op("not") if *self.peek_second() == Token::Op("in") => {
                self.next();
                CompareOp::NotIn
            }
            _ => return None,
        };
        self.next();
        Some(op)
    }

    /// Parses binary operators with at least this precedence.
    fn binary(&mut self, level: u8) -> Result<Expr> {
        let place = self.place();
        let mut left = self.unary()?;
        while let Some((op_level, op)) = self.binary_op()? {
            if op_level < level {
                break;
            }
            self.next();
            let right = self.binary(op_level + 1)?;
            let below = left.depth.max(right.depth);
            let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
            left = self.node(place, below, kind)?;
        }
        Ok(left)
    }

    fn binary_op(&self) -> Result<Option<(u8, BinaryOp)>> {
        let Token::Op(sign) = self.peek() else {
            return Ok(None);
        };
        Ok(Some(match *sign {
            "|" => (0, BinaryOp::Or),
            "^" => (1, BinaryOp::Xor),
            "&" => (2, BinaryOp::And),
            "<<" => (3, BinaryOp::ShiftLeft),
            ">>" => (3, BinaryOp::ShiftRight),
            "+" => (4, BinaryOp::Add),
            "-" => (4, BinaryOp::Subtract),
            "*" => (5, BinaryOp::Multiply),
            "/" => (5, BinaryOp::Divide),
            "//" => (5, BinaryOp::FloorDivide),
            "%" => (5, BinaryOp::Modulo),
            "@" => return Err(self.unavailable("\"@\"")),
            _ => return Ok(None),
        }))
    }

    fn unary(&mut self) -> Result<Expr> {
        let place = self.place();
        let op = match self.peek() {
            Token::Op("+") => UnaryOp::Plus,
            Token::Op("-") => UnaryOp::Minus,
            Token::Op("~") => UnaryOp::Invert,
            _ => return self.power(),
        };
        self.next();
        let inner = self.nested(Parser::unary)?;
        self.node(place, inner.depth, ExprKind::Unary(op, Box::new(inner)))
    }

    fn power(&mut self) -> Result<Expr> {
        let place = self.place();
        let base = self.primary()?;
        if !self.eat("**") {
            return Ok(base);
        }
        let exponent = self.nested(Parser::unary)?;
        let below = base.depth.max(exponent.depth);
        let kind = ExprKind::Binary(BinaryOp::Power, Box::new(base), Box::new(exponent));
        self.node(place, below, kind)
    }

    /// Parses an atom with its calls, attributes and indexes.
    fn primary(&mut self) -> Result<Expr> {
        let mut value = self.atom()?;
        loop {
            let place = self.place();
            if self.eat("(") {
                let args = self.args()?;
                self.expect(")")?;
                let below = args.iter().map(arg_depth).max().unwrap_or(0);
                let below = below.max(value.depth);
                value = self.node(place, below, ExprKind::Call(Box::new(value), args))?;
            } else if self.eat("[") {
                value = self.subscript(place, value)?;
            } else if self.eat(".") {
                let Token::Name(name) = self.peek().clone() else {
                    return Err(self.unexpected("a name"));
                };
                self.checked_name(&name)?;
                self.next();
                let below = value.depth;
                value = self.node(place, below, ExprKind::Attribute(Box::new(value), name))?;
            } else {
                return Ok(value);
            }
        }
    }

    fn subscript(&mut self, place: Place, value: Expr) -> Result<Expr> {
        let mut parts = [None, None, None];
        let mut colons = 0;
        while !self.sees("]") {
            if self.eat(":") {
                colons += 1;
                if colons > 2 {
                    return Err(self.unexpected("\"]\""));
                }
                continue;
            }
            if parts[colons].is_some() {
                return Err(self.unexpected("\"]\""));
            }
            parts[colons] = Some(if colons == 0 {
                self.expression_or_tuple()?
            } else {
                self.expression()?
            });
        }
        self.expect("]")?;
        let below = parts.iter().flatten().map(|part| part.depth).max();
        let below = below.unwrap_or(0).max(value.depth);
        if colons > 0 {
            let kind = ExprKind::Slice(Box::new(value), Box::new(parts));
            return self.node(place, below, kind);
        }
        let [Some(index), _, _] = parts else {
            return Err(self.wrong("an index is missing between the brackets"));
        };
        let kind = ExprKind::Index(Box::new(value), Box::new(index));
        self.node(place, below, kind)
    }

    fn args(&mut self) -> Result<Vec<Arg>> {
        let mut args = Vec::new();
        let mut named = false;
        while !self.sees(")") {
            let place = self.place();
            if self.eat("**") {
                named = true;
                args.push(Arg::UnpackedKeywords(self.expression()?));
            } else if self.eat("*") {
                args.push(Arg::Unpacked(self.expression()?));
            } else if let (Token::Name(name), Token::Op("=")) =
                (self.peek().clone(), self.peek_second().clone())
            {
                self.next();
                self.next();
                named = true;
                args.push(Arg::Keyword(name, self.expression()?));
            } else {
                self.at_argument = self.sees("(");
                let value = self.expression()?;
                if self.sees("for") {
                    // Generators are evaluated eagerly, which is not observable in an argument.
                    let value =
                        self.comprehension(place, ComprehensionKind::Generator, value, None)?;
                    if !args.is_empty() || !self.sees(")") {
                        return Err(self.wrong("a generator among other arguments needs brackets"));
                    }
                    args.push(Arg::Positional(value));
                    break;
                }
                if named {
                    return Err(self.wrong("an argument without a name after one with a name"));
                }
                args.push(Arg::Positional(value));
            }
            if !self.eat(",") {
                break;
            }
        }
        Ok(args)
    }
}

fn arg_depth(arg: &Arg) -> u16 {
    match arg {
        Arg::Positional(value)
        | Arg::Keyword(_, value)
        | Arg::Unpacked(value)
        | Arg::UnpackedKeywords(value) => value.depth,
    }
}
