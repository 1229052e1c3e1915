// RUN: tierup-opt %s --tierup-annotate-kernel | FileCheck %s
// RUN: tierup-opt %s --tierup-annotate-kernel --tierup-annotate-kernel | FileCheck %s

// What the arguments say already stays; numbers have nothing to alias. An entry is inlined in its adapter, a helper where LLVM likes.
// CHECK: llvm.func internal @entry(%arg0: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %arg1: i64, %arg2: !llvm.ptr {llvm.noalias})
// CHECK-SAME: passthrough = ["alwaysinline"]
llvm.func @entry(%x: !llvm.ptr {llvm.align = 64 : i64}, %n: i64, %y: !llvm.ptr) attributes {tierup.result_kinds = []} {
  llvm.return
}

// A helper may be given one pointer twice.
// CHECK: llvm.func internal @helper(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
llvm.func @helper(%x: !llvm.ptr, %y: !llvm.ptr) {
  llvm.return
}

// Declarations, and functions that are not LLVM's yet.
// CHECK: llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @malloc(i64) -> !llvm.ptr
// CHECK: func.func @not_lowered(%arg0: !llvm.ptr) attributes {tierup.result_kinds = []}
func.func @not_lowered(%x: !llvm.ptr) attributes {tierup.result_kinds = []} {
  return
}

// -----
// A part of an entry is marked as the entry is, and LLVM leaves it a function.
// CHECK-LABEL: llvm.func internal @part(
// CHECK-SAME: !llvm.ptr {llvm.noalias}
// CHECK-SAME: passthrough = ["noinline"]
llvm.func @part(%x: !llvm.ptr) attributes {tierup.part} {
  llvm.return
}

// -----
// What loops poll is rarely called.
// CHECK: llvm.func @tierup_poll(i64) -> i32 attributes {passthrough = ["cold"]}
llvm.func @tierup_poll(i64) -> i32
