// SPDX-License-Identifier: Apache-2.0
//! BACKSIGHT_UNWIND names the folder with libbacksight_unwind.so.
fn main() {
    println!("cargo:rerun-if-env-changed=BACKSIGHT_UNWIND");
    if let Ok(folder) = std::env::var("BACKSIGHT_UNWIND") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    println!("cargo:rustc-link-lib=dylib=backsight_unwind");
}
