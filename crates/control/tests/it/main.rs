//! `control` with a real store in a temporary folder, and agents that speak real frames.

mod access;
mod operate;
mod register;
mod restart;
mod rig;
