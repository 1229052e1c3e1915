// RUN: tierup-opt %s --split-input-file --tierup-scans-to-blocks --canonicalize --cse | FileCheck %s

// Short rows: one kernel. A thread sums four in a row, a warp's threads exchange five times, the eight warps' sums go through shared memory;
// the last barrier stands before the next tile's. What came before goes from tile to tile.
// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch blocks([[ROW:%[a-z0-9]+]], {{.*}} = %c6, {{.*}} = %c1, {{.*}} threads([[T:%[a-z0-9]+]], {{.*}} = %c256, {{.*}} workgroup([[SUMS:%[a-z0-9]+]] : memref<32xi64
// CHECK: scf.for [[TILE:%[a-z0-9]+]] = %c0 to %c3000 step %c1024 iter_args([[BEFORE:%[a-z0-9]+]] = %c7_i64)
// CHECK-COUNT-4: memref.load %arg0{{\[}}[[ROW]],
// CHECK-COUNT-2: gpu.shuffle up {{.*}}, %c1_i32
// CHECK-COUNT-2: gpu.shuffle up {{.*}}, %c16_i32
// CHECK: memref.store {{.*}}, [[SUMS]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-8: memref.load [[SUMS]]
// CHECK-COUNT-2: gpu.shuffle up {{.*}}, %c1_i32
// CHECK-COUNT-4: memref.store {{.*}}, %arg1{{\[}}[[ROW]],
// CHECK: gpu.barrier
// CHECK: [[NEXT:%.+]] = arith.addi [[BEFORE]],
// CHECK: scf.yield [[NEXT]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @rows(%x: memref<6x3000xi64>, %y: memref<6x3000xi64>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c3000 = arith.constant 3000 : index
  %start = arith.constant 7 : i64
  scf.for %i = %c0 to %c6 step %c1 {
    %end = scf.for %j = %c0 to %c3000 step %c1 iter_args(%sum = %start) -> (i64) {
      %v = memref.load %x[%i, %j] : memref<6x3000xi64>
      %next = arith.addi %sum, %v : i64
      memref.store %next, %y[%i, %j] : memref<6x3000xi64>
      scf.yield %next : i64
    }
  }
  return
}

// -----

// A long row: the parts' sums, but the last one's; their running sums; the parts.
// CHECK-LABEL: func.func @long
// CHECK: [[ENDS:%.+]] = memref.alloc
// CHECK: gpu.launch blocks({{.*}}, {{.*}}) in ({{.*}} = %c1, {{.*}} = %c122, {{.*}}
// CHECK: gpu.shuffle xor
// CHECK: memref.store {{.*}}, [[ENDS]][
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %c1, {{.*}} = %c1,
// CHECK: memref.load [[ENDS]][
// CHECK: gpu.launch blocks({{.*}}, [[PART:%[a-z0-9]+]], {{.*}}) in ({{.*}} = %c1, {{.*}} = %c123, {{.*}}
// CHECK: scf.if
// CHECK-NEXT: [[PREVIOUS:%.+]] = arith.subi [[PART]], %c1
// CHECK-NEXT: memref.load [[ENDS]][%c0, [[PREVIOUS]]]
func.func @long(%x: memref<1000000xi32>, %y: memref<1000000xi32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  %start = arith.constant 0 : i32
  %end = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %start) -> (i32) {
    %v = memref.load %x[%j] : memref<1000000xi32>
    %next = arith.addi %sum, %v : i32
    memref.store %next, %y[%j] : memref<1000000xi32>
    scf.yield %next : i32
  }
  return
}

// -----

// Not scanned: floats that no op has said are of no order; columns, which neighbouring threads walk side by side; what reads what it stores;
// what ends in a number.
// CHECK-LABEL: func.func @others
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @others(%x: memref<9x9xi64>, %y: memref<9x9xi64>, %z: memref<9xf32>, %w: memref<9xf32>) -> i64 attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %start = arith.constant 0 : i64
  %zero = arith.constant 0.0 : f32
  %a = scf.for %j = %c0 to %c9 step %c1 iter_args(%sum = %zero) -> (f32) {
    %v = memref.load %z[%j] : memref<9xf32>
    %next = arith.addf %sum, %v : f32
    memref.store %next, %w[%j] : memref<9xf32>
    scf.yield %next : f32
  }
  scf.for %i = %c0 to %c9 step %c1 {
    %b = scf.for %j = %c0 to %c9 step %c1 iter_args(%sum = %start) -> (i64) {
      %v = memref.load %x[%j, %i] : memref<9x9xi64>
      %next = arith.addi %sum, %v : i64
      memref.store %next, %y[%j, %i] : memref<9x9xi64>
      scf.yield %next : i64
    }
  }
  %c = scf.for %j = %c0 to %c9 step %c1 iter_args(%sum = %start) -> (i64) {
    %v = memref.load %y[%c0, %j] : memref<9x9xi64>
    %next = arith.addi %sum, %v : i64
    memref.store %next, %y[%c1, %j] : memref<9x9xi64>
    scf.yield %next : i64
  }
  %d = scf.for %j = %c0 to %c9 step %c1 iter_args(%sum = %start) -> (i64) {
    %v = memref.load %x[%c0, %j] : memref<9x9xi64>
    %next = arith.addi %sum, %v : i64
    memref.store %next, %y[%c1, %j] : memref<9x9xi64>
    scf.yield %next : i64
  }
  return %d : i64
}
