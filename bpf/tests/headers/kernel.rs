//! Types of the running kernel, from its BTF.

use std::ffi::OsStr;
use std::path::Path;

use libbpf_rs::btf::types::{
    Array, Composite, Enum, Enum64, Int, IntEncoding, MemberAttr, Ptr, Struct,
};
use libbpf_rs::btf::{Btf, BtfType};

use crate::declared::Shape;

pub struct Kernel {
    btf: Btf<'static>,
    enumerators: Vec<(String, u64)>,
}

impl Kernel {
    /// None without BTF.
    pub fn running() -> Option<Kernel> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return None;
        }
        let btf = Btf::from_vmlinux().expect("the kernel's BTF is readable");
        let enumerators = enumerators(&btf);
        Some(Kernel { btf, enumerators })
    }

    pub fn has_struct(&self, name: &str) -> bool {
        self.btf.type_by_name::<Struct<'_>>(name).is_some()
    }

    /// In any enumeration.
    pub fn enumerator(&self, name: &str) -> Option<u64> {
        let found = self.enumerators.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| *value)
    }

    pub fn enumerators_with(&self, prefix: &str) -> Vec<(String, u64)> {
        let all = self.enumerators.iter();
        all.filter(|(name, _)| name.starts_with(prefix))
            .cloned()
            .collect()
    }

    /// None if neither the structure nor an anonymous part of it has such a field.
    pub fn field(&self, structure: &str, field: &str) -> Option<Shape> {
        let structure = self.btf.type_by_name::<Struct<'_>>(structure)?;
        self.member(structure.into(), field)
    }

    fn member(&self, composite: Composite<'_>, wanted: &str) -> Option<Shape> {
        composite.iter().find_map(|member| {
            let kind: BtfType<'_> = self.btf.type_by_id(member.ty)?;
            match member.name.filter(|name| !name.is_empty()) {
                Some(name) if name == wanted => Some(match member.attr {
                    MemberAttr::Normal { .. } => shape(kind),
                    MemberAttr::BitField { .. } => Shape::Other("a bit field".to_owned()),
                }),
                Some(_) => None,
                None => self.member(Composite::try_from(kind).ok()?, wanted),
            }
        })
    }
}

fn enumerators(btf: &Btf<'_>) -> Vec<(String, u64)> {
    let text = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for enumeration in btf.type_by_kind::<Enum<'_>>() {
        found.extend(enumeration.iter().map(|m| (text(m.name), m.value as u64)));
    }
    for enumeration in btf.type_by_kind::<Enum64<'_>>() {
        found.extend(enumeration.iter().map(|m| (text(m.name), m.value as u64)));
    }
    found
}

fn shape(kind: BtfType<'_>) -> Shape {
    let kind = kind.skip_mods_and_typedefs();
    let name = |kind: &BtfType<'_>| {
        kind.name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    if let Ok(integer) = Int::try_from(kind) {
        return Shape::Integer {
            bytes: u64::from(integer.bits) / 8,
            is_signed: matches!(integer.encoding, IntEncoding::Signed),
        };
    }
    if let Ok(pointer) = Ptr::try_from(kind) {
        let pointee = pointer.next_type().map(|to| to.skip_mods_and_typedefs());
        // A pointer to a nameless type is a pointer to void.
        let pointee = pointee.as_ref().map(name).filter(|name| !name.is_empty());
        return Shape::Pointer(pointee.unwrap_or("void".to_owned()));
    }
    if let Ok(array) = Array::try_from(kind) {
        let element = Int::try_from(array.contained_type().skip_mods_and_typedefs());
        if element.is_ok_and(|element| element.bits == 8) {
            return Shape::Characters(array.capacity() as u64);
        }
    }
    if Struct::try_from(kind).is_ok() {
        return Shape::Struct(name(&kind));
    }
    Shape::Other(format!("{kind:?}"))
}
