//! What runs say. Pure: numbers go in, findings come out; no file is opened here.

pub mod efficiency;
