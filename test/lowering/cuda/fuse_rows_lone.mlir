// RUN: tierup-opt %s --split-input-file --tierup-fuse-rows=lone-row=4096 | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fuse-rows | FileCheck %s --check-prefix=ALWAYS

// One op alone along long rows, or rows that may be long: whole reductions, which many blocks share. Short rows, or two ops: a loop.
// CHECK-LABEL: func.func @long
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @short
// CHECK: scf.for
// CHECK-LABEL: func.func @two
// CHECK: scf.for
// ALWAYS-COUNT-4: scf.for
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @long(%x: memref<2x9000xf32>, %s: memref<2xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<2xf32>) {
  ^bb0(%b: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x9000xf32>) outs(%s : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @unknown(%x: memref<2x?xf32>, %s: memref<2xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<2xf32>) {
  ^bb0(%b: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x?xf32>) outs(%s : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @short(%x: memref<2x90xf32>, %s: memref<2xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<2xf32>) {
  ^bb0(%b: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x90xf32>) outs(%s : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @two(%x: memref<2x9000xf32>, %s: memref<2xf32>, %y: memref<2x9000xf32>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x9000xf32>) outs(%s : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<2x9000xf32>, memref<2xf32>) outs(%y : memref<2x9000xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %0 = arith.subf %a, %m : f32
    linalg.yield %0 : f32
  }
  return
}
