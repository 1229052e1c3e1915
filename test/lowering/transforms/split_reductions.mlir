// RUN: tierup-opt %s --tierup-split-reductions | FileCheck %s
// RUN: tierup-opt %s --tierup-split-reductions --tierup-split-reductions | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// CHECK-LABEL: func.func @sum
// CHECK: [[PARTIAL:%.+]] = memref.alloca() : memref<32xf32>
// CHECK: [[COUNT:%.+]] = arith.select
// CHECK: scf.for [[PART:%.+]] = %{{.+}} to [[COUNT]] step
// CHECK:   memref.store %{{.+}}, [[PARTIAL]][[[PART]]]
// CHECK:   [[PIECE:%.+]] = memref.subview %arg0
// CHECK:   [[MINE:%.+]] = memref.subview [[PARTIAL]][[[PART]]] [1]
// CHECK:   linalg.generic {{.+}} ins([[PIECE]], %arg1 : {{.+}}) outs([[MINE]]
// CHECK:     arith.mulf
// CHECK: } {tierup.parts}
// CHECK: [[ALL:%.+]] = memref.subview [[PARTIAL]][%{{.+}}] {{\[}}[[COUNT]]]
// CHECK: linalg.generic {{.+}} ins([[ALL]] : {{.+}}) outs(%arg2
// CHECK-NEXT: ^bb0([[IN:%.+]]: f32, [[OUT:%.+]]: f32):
// CHECK-NEXT: arith.addf [[OUT]], [[IN]] : f32
func.func @sum(%x: memref<?xf32>, %factor: memref<f32>, %out: memref<f32>) {
  linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]} ins(%x, %factor : memref<?xf32>, memref<f32>) outs(%out : memref<f32>) {
  ^bb0(%in: f32, %by: f32, %so_far: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %so_far, %0 fastmath<reassoc> : f32
    linalg.yield %1 : f32
  }
  return
}

// Short ones, those that combine in a way of their own, and those that use what is combined twice stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
func.func @others(%x: memref<1000xf32>, %y: memref<?xf32>, %out: memref<f32>) {
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : memref<1000xf32>) outs(%out : memref<f32>) {
  ^bb0(%in: f32, %so_far: f32):
    %0 = arith.addf %so_far, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%y : memref<?xf32>) outs(%out : memref<f32>) {
  ^bb0(%in: f32, %so_far: f32):
    %0 = arith.subf %so_far, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%y : memref<?xf32>) outs(%out : memref<f32>) {
  ^bb0(%in: f32, %so_far: f32):
    %0 = arith.mulf %so_far, %in : f32
    %1 = arith.addf %so_far, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
