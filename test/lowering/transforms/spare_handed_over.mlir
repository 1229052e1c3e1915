// RUN: tierup-opt %s --split-input-file --tierup-spare-handed-over | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-spare-handed-over --tierup-spare-handed-over | FileCheck %s

// A deallocation of what an exit may have handed over asks first, where control left; others stay as they are.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[LIVE:[^:]*]]: memref<5xi64>, %[[STATUS:[^:]*]]: memref<i32>)
// CHECK: %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK: call @main_exit0
// CHECK: memref.dealloc %[[B]]
// CHECK: %[[S:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[LEFT:.*]] = arith.cmpi slt, %[[S]], %c0
// CHECK: %[[SPARED:.*]] = scf.if %[[LEFT]] -> (i1) {
// CHECK: %[[P:.*]] = llvm.extractvalue %{{.*}}[0]
// CHECK: %[[OWNER:.*]] = llvm.ptrtoint %[[P]]
// CHECK: %[[H:.*]] = func.call @tierup_handed_over(%[[OWNER]], %[[LIVE]])
// CHECK: scf.yield %[[H]]
// CHECK: } else {
// CHECK: scf.yield %false
// CHECK: %[[FREE:.*]] = arith.xori %[[SPARED]], %true
// CHECK: scf.if %[[FREE]] {
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: }
// CHECK: memref.load %[[STATUS]][]
// CHECK: memref.dealloc %base_buffer
// CHECK-NOT: memref.dealloc
// CHECK-LABEL: func.func private @tierup_handed_over
// CHECK-SAME: (%[[OWNER:.*]]: i64, %[[WORDS:.*]]: memref<5xi64>) -> i1 attributes {tierup.handed_over}
// CHECK: %[[N:.*]] = memref.load %[[WORDS]][%c0
// CHECK: scf.for
// CHECK: memref.load %[[WORDS]]
// CHECK: arith.cmpi eq, %{{.*}}, %[[OWNER]]
func.func @main(%c: i1, %live: memref<5xi64>, %status: memref<i32>) {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  %other = memref.alloc() : memref<4xf32>
  %chosen = arith.select %c, %a, %other : memref<4xf32>
  %view = memref.cast %a : memref<4xf32> to memref<4xf32, strided<[?], offset: ?>>
  call @main_exit0(%view, %live, %status) : (memref<4xf32, strided<[?], offset: ?>>, memref<5xi64>, memref<i32>) -> ()
  memref.dealloc %b : memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  %base_buffer, %offset, %sizes, %strides = memref.extract_strided_metadata %chosen : memref<4xf32> -> memref<f32>, index, index, index
  memref.dealloc %base_buffer : memref<f32>
  return
}
func.func private @main_exit0(memref<4xf32, strided<[?], offset: ?>>, memref<5xi64>, memref<i32>) attributes {tierup.exit = 0 : i64}

// -----
// Nothing to do: no exit.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: memref.dealloc
// CHECK-NOT: tierup_handed_over
func.func @plain() {
  %a = memref.alloc() : memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}
