//! The tree of the supported part of Python.

use std::collections::HashSet;
use std::sync::Arc;

use crate::place::Place;

pub(crate) type Name = Arc<str>;

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) place: Place,
    /// The depth of the tree, which is bounded because evaluating and dropping are recursive.
    pub(crate) depth: u16,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Name),
    /// An f-string.
    Format(Vec<FormatPart>),
    Name(Name),
    Tuple(Vec<Item>),
    List(Vec<Item>),
    Set(Vec<Item>),
    Dict(Vec<DictItem>),
    Comprehension(Arc<Comprehension>),
    Lambda(Arc<Function>),
    Conditional(Box<Conditional>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    Call(Box<Expr>, Vec<Arg>),
    Attribute(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
}

#[derive(Debug)]
pub(crate) enum FormatPart {
    Text(String),
    Field {
        value: Expr,
        conversion: Option<char>,
        spec: Vec<FormatPart>,
    },
}

/// An element of a list, tuple or set: `x` or `*x`.
#[derive(Debug)]
pub(crate) enum Item {
    Value(Expr),
    Unpacked(Expr),
}

#[derive(Debug)]
pub(crate) enum DictItem {
    Pair(Expr, Expr),
    Unpacked(Expr),
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Expr,
    pub(crate) then: Expr,
    pub(crate) otherwise: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComprehensionKind {
    List,
    Set,
    Dict,
    Generator,
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: ComprehensionKind,
    /// The element, or the key of a dict.
    pub(crate) element: Expr,
    /// The value of a dict.
    pub(crate) value: Option<Expr>,
    pub(crate) clauses: Vec<Clause>,
}

#[derive(Debug)]
pub(crate) enum Clause {
    For(Target, Expr),
    If(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Plus,
    Minus,
    Invert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

impl BinaryOp {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::FloorDivide => "//",
            BinaryOp::Modulo => "%",
            BinaryOp::Power => "**",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Is,
    IsNot,
}

#[derive(Debug)]
pub(crate) enum Arg {
    Positional(Expr),
    Keyword(Name, Expr),
    Unpacked(Expr),
    UnpackedKeywords(Expr),
}

/// The left side of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Index(Expr, Expr),
    Tuple(Vec<Target>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamKind {
    Positional,
    KeywordOnly,
    VarPositional,
    VarKeyword,
}

#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: Name,
    pub(crate) kind: ParamKind,
    pub(crate) default: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: Name,
    pub(crate) params: Vec<Param>,
    /// The local names: parameters and names that the body assigns.
    pub(crate) locals: HashSet<Name>,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    Value(Expr),
    Block(Vec<Stmt>),
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) place: Place,
    pub(crate) kind: StmtKind,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Value(Expr),
    Assign(Vec<Target>, Expr),
    AugmentedAssign(Target, BinaryOp, Expr),
    Delete(Vec<Target>),
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    For(Box<ForStmt>),
    Def(Arc<Function>),
    Return(Option<Expr>),
    Break,
    Continue,
    Pass,
}

#[derive(Debug)]
pub(crate) struct ForStmt {
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) body: Vec<Stmt>,
    pub(crate) otherwise: Vec<Stmt>,
}
