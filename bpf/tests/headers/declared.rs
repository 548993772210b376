//! A parser for the C subset of block.bpf.h. Panics on anything else.

/// The properties of a declared field that must equal the kernel's.
#[derive(Debug, PartialEq, Eq)]
pub enum Shape {
    Integer {
        bytes: u64,
        is_signed: bool,
    },
    Pointer(String),
    Struct(String),
    /// An array of characters, whose sign differs between architectures.
    Characters(u64),
    /// Kernel only: a type that the header cannot declare.
    Other(String),
}

pub struct Field {
    pub name: String,
    pub shape: Shape,
}

pub struct Structure {
    pub name: String,
    pub fields: Vec<Field>,
}

pub struct Header {
    pub structures: Vec<Structure>,
    pub constants: Vec<(String, u64)>,
}

impl Header {
    pub fn parse(text: &str) -> Header {
        let text = without_comments(text);
        let mut header = Header {
            structures: Vec::new(),
            constants: Vec::new(),
        };
        let mut rest = text.as_str();
        while let Some(open) = rest.find('{') {
            let close = open + rest[open..].find('}').expect("a closing brace");
            let before = rest[..open].trim_end();
            let opening = before.rsplit(['\n', ';']).next().unwrap_or(before).trim();
            let body = &rest[open + 1..close];
            match opening.split_once(' ').unwrap_or((opening, "")) {
                ("struct", name) => header.structures.push(Structure {
                    name: name.to_owned(),
                    fields: items(body, ';').map(field).collect(),
                }),
                ("enum", _) => header.constants.extend(items(body, ',').map(constant)),
                _ => panic!("neither a structure nor an enumeration: {opening:?}"),
            }
            rest = &rest[close + 1..];
        }
        header
    }
}

fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str(piece.split_once("*/").expect("an end of comment").1);
    }
    kept
}

fn items(body: &str, separator: char) -> impl Iterator<Item = &str> {
    let items = body.split(separator).map(str::trim);
    items.filter(|item| !item.is_empty())
}

fn constant(item: &str) -> (String, u64) {
    let (name, value) = item.split_once('=').expect("a constant with its value");
    (name.trim().to_owned(), evaluate(value))
}

fn evaluate(value: &str) -> u64 {
    if let Some((value, bits)) = value.split_once("<<") {
        return evaluate(value) << evaluate(bits);
    }
    let value = value.trim().trim_end_matches('U');
    let number = match value.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => value.parse(),
    };
    number.unwrap_or_else(|_| panic!("not a number: {value:?}"))
}

fn field(item: &str) -> Field {
    let split = item.rfind([' ', '*']).expect("a type and a name") + 1;
    let (kind, name) = (item[..split].trim(), &item[split..]);
    if let Some((name, length)) = name.split_once('[') {
        assert_eq!(kind, "char", "an array of something else: {item:?}");
        let length = length.trim_end_matches(']').parse().expect("a length");
        return Field {
            name: name.to_owned(),
            shape: Shape::Characters(length),
        };
    }
    Field {
        name: name.to_owned(),
        shape: shape(kind),
    }
}

fn shape(kind: &str) -> Shape {
    if let Some(name) = kind.strip_prefix("struct ") {
        return match name.strip_suffix('*') {
            Some(pointee) => Shape::Pointer(pointee.trim().to_owned()),
            None => Shape::Struct(name.to_owned()),
        };
    }
    if let Some(pointee) = kind.strip_suffix('*') {
        return Shape::Pointer(pointee.trim().to_owned());
    }
    let (bytes, is_signed) = match kind {
        "unsigned char" | "blk_status_t" => (1, false),
        "unsigned short" => (2, false),
        "int" => (4, true),
        "unsigned int" => (4, false),
        "long" => (8, true),
        "unsigned long" | "sector_t" | "__u64" => (8, false),
        _ => panic!("a type that is not compared yet: {kind:?}"),
    };
    Shape::Integer { bytes, is_signed }
}
