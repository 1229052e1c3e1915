// RUN: tierup-opt %s --tierup-store-bools-as-bytes | FileCheck %s
// RUN: tierup-opt %s --tierup-store-bools-as-bytes --tierup-store-bools-as-bytes | FileCheck %s

// What marks a read or a write stays with it.
// CHECK-LABEL: llvm.func @bools
// CHECK: %[[B:.*]] = llvm.load %arg0 {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: %[[TRUE:.*]] = llvm.icmp "ne" %[[B]], %{{.*}} : i8
// CHECK: %[[C:.*]] = llvm.zext %[[TRUE]] : i1 to i8
// CHECK: llvm.store %[[C]], %arg1 {alignment = 1 : i64} : i8, !llvm.ptr
llvm.func @bools(%x: !llvm.ptr, %y: !llvm.ptr) {
  %0 = llvm.load %x {alignment = 1 : i64} : !llvm.ptr -> i1
  llvm.store %0, %y {alignment = 1 : i64} : i1, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @others
// CHECK-NEXT: llvm.load %arg0 : !llvm.ptr -> i8
// CHECK-NEXT: llvm.store
// CHECK-NEXT: llvm.return
llvm.func @others(%x: !llvm.ptr, %y: !llvm.ptr) {
  %0 = llvm.load %x : !llvm.ptr -> i8
  llvm.store %0, %y : i8, !llvm.ptr
  llvm.return
}
