// RUN: tierup-opt %s --split-input-file --tierup-share-loops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-share-loops --tierup-share-loops | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#ij = affine_map<(d0, d1) -> (d0, d1)>
#j = affine_map<(d0, d1) -> (d1)>
module attributes {tierup.threads = 2 : i64} {
// Enough to do, for as many parts as the run's sizes give; the arrays lie apart.
// CHECK-LABEL: func.func private @long_shared0(%arg0: index, %arg1: index, %arg2: memref<?xf32> {tierup.apart}, %arg3: memref<?xf32> {tierup.apart}) attributes {tierup.shared = 0 : i64}
// CHECK: linalg.generic
// CHECK-LABEL: func.func @long
// CHECK: arith.select
// CHECK: [[COUNT:%.+]] = arith.maxui
// CHECK: call @long_shared0(%{{.+}}, [[COUNT]], %arg0, %arg1)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @long(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.mulf %0, %in : f32
    %2 = arith.mulf %1, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %in : f32
    %5 = arith.mulf %4, %in : f32
    %6 = arith.mulf %5, %in : f32
    %7 = arith.mulf %6, %in : f32
    %8 = arith.mulf %7, %in : f32
    %9 = arith.mulf %8, %in : f32
    %10 = arith.mulf %9, %in : f32
    %11 = arith.mulf %10, %in : f32
    %12 = arith.mulf %11, %in : f32
    %13 = arith.mulf %12, %in : f32
    %14 = arith.mulf %13, %in : f32
    %15 = arith.mulf %14, %in : f32
    %16 = arith.mulf %15, %in : f32
    linalg.yield %16 : f32
  }
  return
}

// Two views of one array do not lie apart.
// CHECK-LABEL: func.func private @views_shared0(
// CHECK-NOT: tierup.apart
// CHECK-SAME: attributes {tierup.shared = 0 : i64}
func.func @views(%x: memref<?x4xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.subview %x[0, 0] [%n, 1] [1, 1] : memref<?x4xf32> to memref<?xf32, strided<[4]>>
  %b = memref.subview %x[0, 1] [%n, 1] [1, 1] : memref<?x4xf32> to memref<?xf32, strided<[4], offset: 1>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<?xf32, strided<[4]>>) outs(%b : memref<?xf32, strided<[4], offset: 1>>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.mulf %0, %in : f32
    %2 = arith.mulf %1, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %in : f32
    %5 = arith.mulf %4, %in : f32
    %6 = arith.mulf %5, %in : f32
    %7 = arith.mulf %6, %in : f32
    %8 = arith.mulf %7, %in : f32
    %9 = arith.mulf %8, %in : f32
    %10 = arith.mulf %9, %in : f32
    %11 = arith.mulf %10, %in : f32
    %12 = arith.mulf %11, %in : f32
    %13 = arith.mulf %12, %in : f32
    %14 = arith.mulf %13, %in : f32
    %15 = arith.mulf %14, %in : f32
    %16 = arith.mulf %15, %in : f32
    linalg.yield %16 : f32
  }
  return
}

// Sums along columns are cut along these, one loop further in.
// CHECK-LABEL: func.func private @columns_shared0(
// CHECK-SAME: attributes {tierup.shared = 1 : i64}
func.func @columns(%x: memref<2000x4096xf32>, %y: memref<4096xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]} ins(%x : memref<2000x4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A row's memory is each part's own: a piece of what is allocated for all.
// CHECK-LABEL: func.func private @rows_shared0(%arg0: index, %arg1: index,
// CHECK-SAME: %[[ALL:[a-z0-9]+]]: memref<?xi8> {tierup.apart}, %[[EACH:[a-z0-9]+]]: index)
// CHECK: [[AT:%.+]] = arith.muli %arg0, %[[EACH]]
// CHECK: [[MINE:%.+]] = memref.view %[[ALL]]{{\[}}[[AT]]{{\]\[\]}} : memref<?xi8> to memref<4096xf32>
// CHECK: scf.for
// CHECK: linalg.generic {{.+}} outs([[MINE]]
// CHECK-LABEL: func.func @rows
// CHECK: [[ALL:%.+]] = memref.alloc(%{{.+}}) {alignment = 64 : i64} : memref<?xi8>
// CHECK: call @rows_shared0
// CHECK: memref.dealloc [[ALL]]
func.func @rows(%x: memref<2000x4096xf32>, %y: memref<2000x4096xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 2000 : index
  %row = memref.alloc() : memref<4096xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.subview %x[%i, 0] [1, 4096] [1, 1] : memref<2000x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    %b = memref.subview %y[%i, 0] [1, 4096] [1, 1] : memref<2000x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<4096xf32, strided<[1], offset: ?>>) outs(%row : memref<4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.mulf %in, %in : f32
      %1 = arith.mulf %0, %in : f32
      %2 = arith.mulf %1, %in : f32
      %3 = arith.mulf %2, %in : f32
      %4 = arith.mulf %3, %in : f32
      %5 = arith.mulf %4, %in : f32
      %6 = arith.mulf %5, %in : f32
      %7 = arith.mulf %6, %in : f32
      %8 = arith.mulf %7, %in : f32
      %9 = arith.mulf %8, %in : f32
      %10 = arith.mulf %9, %in : f32
      %11 = arith.mulf %10, %in : f32
      %12 = arith.mulf %11, %in : f32
      %13 = arith.mulf %12, %in : f32
      %14 = arith.mulf %13, %in : f32
      %15 = arith.mulf %14, %in : f32
      %16 = arith.mulf %15, %in : f32
      linalg.yield %16 : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%row : memref<4096xf32>) outs(%b : memref<4096xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %in : f32
      linalg.yield %0 : f32
    }
  } {tierup.rows}
  memref.dealloc %row : memref<4096xf32>
  return
}

// What each row adds to is nobody's own: the loop stays.
// CHECK-LABEL: func.func @rows_that_write_one_place
// CHECK: scf.for
func.func @rows_that_write_one_place(%x: memref<2000x4096xf32>, %y: memref<4096xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 2000 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.subview %x[%i, 0] [1, 4096] [1, 1] : memref<2000x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<4096xf32, strided<[1], offset: ?>>) outs(%y : memref<4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    }
  } {tierup.rows}
  return
}

// What threads would write is read here by a loop that computes little.
// CHECK-LABEL: func.func @read_by_one_that_stays
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @read_by_one_that_stays(%x: memref<1000000xf32>, %y: memref<1000000xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %e = memref.alloc() : memref<1000000xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<1000000xf32>) outs(%e : memref<1000000xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.mulf %0, %in : f32
    %2 = arith.mulf %1, %in : f32
    %3 = arith.mulf %2, %in : f32
    %4 = arith.mulf %3, %in : f32
    %5 = arith.mulf %4, %in : f32
    %6 = arith.mulf %5, %in : f32
    %7 = arith.mulf %6, %in : f32
    %8 = arith.mulf %7, %in : f32
    %9 = arith.mulf %8, %in : f32
    %10 = arith.mulf %9, %in : f32
    %11 = arith.mulf %10, %in : f32
    %12 = arith.mulf %11, %in : f32
    %13 = arith.mulf %12, %in : f32
    %14 = arith.mulf %13, %in : f32
    %15 = arith.mulf %14, %in : f32
    %16 = arith.mulf %15, %in : f32
    linalg.yield %16 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%e : memref<1000000xf32>) outs(%y : memref<1000000xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %e : memref<1000000xf32>
  return
}

// Little to do; a check on its way.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: call @others
func.func @others(%x: memref<100xf32>, %y: memref<100xf32>, %z: memref<?xf32>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c1 = arith.constant 1 : i32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<100xf32>) outs(%y : memref<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%z : memref<?xf32>) {
  ^bb0(%out: f32):
    memref.store %c1, %status[] : memref<i32>
    linalg.yield %out : f32
  }
  return
}
}

// -----

// One thread: nothing is shared.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @alone
// CHECK: linalg.generic
func.func @alone(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
