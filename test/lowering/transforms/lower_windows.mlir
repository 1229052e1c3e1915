// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// One sample after the other: padding, what windows see as columns (from 8 rows at a time on), one product.
// CHECK-DAG: #[[SEEN:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1 + d4, d2 + d5)>
// CHECK-LABEL: func.func @columns
// CHECK: scf.for
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1, 1] [1, 64, 28, 28] [1, 1, 1, 1] : tensor<1x64x28x28xf32> into tensor<1x64x30x30xf32>
// CHECK: scf.for
// CHECK: linalg.generic {indexing_maps = [#[[SEEN]], {{.*}}]
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<64x576xf32>, tensor<576x392xf32>) outs(%{{.*}} : tensor<64x392xf32>)
// CHECK: tensor.insert_slice %{{.*}} [1, 64, 392] [1, 1, 1] : tensor<64x392xf32> into tensor<8x64x784xf32>
// CHECK: arith.addf
// CHECK-NOT: torch.aten.conv2d
func.func @columns(%x: !torch.vtensor<[8,64,28,28],f32>, %w: !torch.vtensor<[64,64,3,3],f32>, %b: !torch.vtensor<[64],f32>) -> !torch.vtensor<[8,64,28,28],f32> {
  %one = torch.constant.int 1
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.conv2d %x, %w, %b, %l, %l, %l, %one : !torch.vtensor<[8,64,28,28],f32>, !torch.vtensor<[64,64,3,3],f32>, !torch.vtensor<[64],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[8,64,28,28],f32>
  return %r : !torch.vtensor<[8,64,28,28],f32>
}

// -----
// Samples of few positions are taken together.
// CHECK-LABEL: func.func @together
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<6x36xf32>, tensor<36x128xf32>)
func.func @together(%x: !torch.vtensor<[8,4,4,4],f32>, %w: !torch.vtensor<[6,4,3,3],f32>) -> !torch.vtensor<[8,6,4,4],f32> {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.conv2d %x, %w, %none, %l, %l, %l, %one : !torch.vtensor<[8,4,4,4],f32>, !torch.vtensor<[6,4,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[8,6,4,4],f32>
  return %r : !torch.vtensor<[8,6,4,4],f32>
}

// -----
// A window of one place sees the input itself.
// CHECK-LABEL: func.func @one_place
// CHECK-NOT: linalg.generic {{.*}}parallel", "parallel", "parallel", "parallel", "parallel
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<6x4xf32>, tensor<4x256xf32>)
func.func @one_place(%x: !torch.vtensor<[?,4,16,16],f32>, %w: !torch.vtensor<[6,4,1,1],f32>) -> !torch.vtensor<[?,6,16,16],f32> {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %l = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %p = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %r = torch.aten.conv2d %x, %w, %none, %l, %p, %l, %one : !torch.vtensor<[?,4,16,16],f32>, !torch.vtensor<[6,4,1,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[?,6,16,16],f32>
  return %r : !torch.vtensor<[?,6,16,16],f32>
}

// -----
// The transpose multiplies first, then adds each column to where it came from.
// CHECK-LABEL: func.func @transposed
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<27x4xf32>, tensor<4x256xf32>)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} [3, 1, 16, 16] [1, 1, 2, 2]
// CHECK: arith.addf
// CHECK: tensor.insert_slice %{{.*}} [3, 1, 16, 16] [1, 1, 2, 2]
func.func @transposed(%x: !torch.vtensor<[?,4,16,16],f32>, %w: !torch.vtensor<[4,3,3,3],f32>) -> !torch.vtensor<[?,3,32,32],f32> {
  %none = torch.constant.none
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %s = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.conv_transpose2d.input %x, %w, %none, %s, %l, %l, %one, %l : !torch.vtensor<[?,4,16,16],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int, !torch.list<int> -> !torch.vtensor<[?,3,32,32],f32>
  return %r : !torch.vtensor<[?,3,32,32],f32>
}

// -----
// A depthwise convolution is one loop over the result: no product.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: linalg.batch_matmul
// CHECK-COUNT-4: arith.mulf
// CHECK: linalg.yield
func.func @depthwise(%x: !torch.vtensor<[2,8,5,5],f32>, %w: !torch.vtensor<[8,1,2,2],f32>) -> !torch.vtensor<[2,8,4,4],f32> {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %eight = torch.constant.int 8
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %p = torch.prim.ListConstruct %zero, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.conv2d %x, %w, %none, %l, %p, %l, %eight : !torch.vtensor<[2,8,5,5],f32>, !torch.vtensor<[8,1,2,2],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[2,8,4,4],f32>
  return %r : !torch.vtensor<[2,8,4,4],f32>
}

// -----
// A small window is unrolled: each place meets a strided view of the padded input. NaN wins.
// CHECK-LABEL: func.func @largest
// CHECK: arith.constant 0xFF800000 : f32
// CHECK-COUNT-4: tensor.extract_slice %{{.*}} [2, 3, 4, 4] [1, 1, 2, 2] : tensor<2x3x8x8xf32> to tensor<2x3x4x4xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
// CHECK-COUNT-4: arith.cmpf une
// CHECK: linalg.yield
func.func @largest(%x: !torch.vtensor<[2,3,6,6],f32>) -> !torch.vtensor<[2,3,4,4],f32> {
  %false = torch.constant.bool false
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %k = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.max_pool2d %x, %k, %k, %l, %l, %false : !torch.vtensor<[2,3,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,3,4,4],f32>
  return %r : !torch.vtensor<[2,3,4,4],f32>
}

// -----
// A large one is a reduction; what it is divided by is counted where the window may stand on padding.
// CHECK-LABEL: func.func @average
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
// CHECK: linalg.index 2
// CHECK: arith.divf
func.func @average(%x: !torch.vtensor<[2,3,9,9],f32>) -> !torch.vtensor<[2,3,4,4],f32> {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %one = torch.constant.int 1
  %eight = torch.constant.int 8
  %k = torch.prim.ListConstruct %eight, %eight : (!torch.int, !torch.int) -> !torch.list<int>
  %l = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.avg_pool2d %x, %k, %l, %l, %false, %false, %none : !torch.vtensor<[2,3,9,9],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2,3,4,4],f32>
  return %r : !torch.vtensor<[2,3,4,4],f32>
}
