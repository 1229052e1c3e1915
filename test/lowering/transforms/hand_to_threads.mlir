// RUN: tierup-opt %s --tierup-hand-to-threads | FileCheck %s

// CHECK: llvm.func @tierup_share(!llvm.ptr, !llvm.ptr, i64, i64)

// CHECK-LABEL: llvm.func @f_shared0_part(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64)
// CHECK-SAME: "noinline"
// CHECK: [[HELD:%.+]] = llvm.load %arg0 : !llvm.ptr -> !llvm.struct<(ptr, f32)>
// CHECK-DAG: [[X:%.+]] = llvm.extractvalue [[HELD]][0]
// CHECK-DAG: [[V:%.+]] = llvm.extractvalue [[HELD]][1]
// CHECK: llvm.call @f_shared0(%arg1, %arg2, [[X]], [[V]])

// CHECK-LABEL: llvm.func @f(
// CHECK: [[CONTEXT:%.+]] = llvm.alloca %{{.+}} x !llvm.struct<(ptr, f32)>
// CHECK: llvm.store %{{.+}}, [[CONTEXT]]
// CHECK-DAG: [[PART:%.+]] = llvm.mlir.addressof @f_shared0_part
// CHECK-DAG: [[THREADS:%.+]] = llvm.mlir.constant(6 : i64)
// CHECK: llvm.call @tierup_share([[PART]], [[CONTEXT]], %arg2, [[THREADS]])
// CHECK-NOT: llvm.call @f_shared0(
module attributes {tierup.threads = 6 : i64} {
  llvm.func @f_shared0(%number: i64, %count: i64, %x: !llvm.ptr, %v: f32) attributes {tierup.shared = 0 : i64} {
    llvm.store %v, %x : f32, !llvm.ptr
    llvm.return
  }
  llvm.func @f(%x: !llvm.ptr, %v: f32, %count: i64) {
    %0 = llvm.mlir.constant(0 : i64) : i64
    llvm.call @f_shared0(%0, %count, %x, %v) : (i64, i64, !llvm.ptr, f32) -> ()
    llvm.return
  }
}
