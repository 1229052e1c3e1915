// RUN: tierup-opt %s --tierup-peephole-alias-sensitive --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-alias-sensitive,tierup-peephole-alias-sensitive)" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-peephole-alias-sensitive="disable-shape" --split-input-file | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func.func @nothing_changes
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[4],f32>, %[[N:[a-z0-9]+]]: !torch.vtensor<[4],si64>
func.func @nothing_changes(%x: !torch.vtensor<[4],f32>, %n: !torch.vtensor<[4],si64>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %0 = torch.aten.mul.Scalar %x, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.sub.Scalar %0, %int0, %int1 : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4],f32>
  %2 = torch.aten.div.Scalar %1, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  // CHECK: torch.aten.tanh %[[X]]
  %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
  %4 = torch.aten.add.Scalar %n, %int0, %int1 : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
  // CHECK: torch.aten.neg %[[N]]
  %5 = torch.aten.neg %4 : !torch.vtensor<[4],si64> -> !torch.vtensor
  // -0.0 + 0 is 0.0.
  // CHECK: torch.aten.add.Scalar %[[X]]
  %6 = torch.aten.add.Scalar %x, %int0, %int1 : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4],f32>
  %7 = torch.aten.tanh %6 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %3, %5, %7 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// An integer divided by 1 is a float; a bool times 1 an integer; an integer times 1.0 a float; of what dtype it is must be known.
// CHECK-LABEL: func.func @promotions
func.func @promotions(%n: !torch.vtensor<[4],si64>, %b: !torch.vtensor<[4],i1>, %u: !torch.vtensor)
    -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %int1 = torch.constant.int 1
  %f1 = torch.constant.float 1.000000e+00
  // CHECK: torch.aten.div.Scalar
  %0 = torch.aten.div.Scalar %n, %int1 : !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.mul.Scalar
  %2 = torch.aten.mul.Scalar %b, %int1 : !torch.vtensor<[4],i1>, !torch.int -> !torch.vtensor
  %3 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.mul.Scalar
  %4 = torch.aten.mul.Scalar %n, %f1 : !torch.vtensor<[4],si64>, !torch.float -> !torch.vtensor
  %5 = torch.aten.tanh %4 : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.mul.Scalar
  %6 = torch.aten.mul.Scalar %u, %int1 : !torch.vtensor, !torch.int -> !torch.vtensor
  %7 = torch.aten.tanh %6 : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.mul.Scalar
  %8 = torch.aten.mul.Scalar %n, %f1 {tierup.promotion = "numpy"} : !torch.vtensor<[4],si64>, !torch.float -> !torch.vtensor
  %9 = torch.aten.tanh %8 : !torch.vtensor -> !torch.vtensor
  return %1, %3, %5, %7, %9 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// A later write to x would show in z (test_peephole_with_non_output_writes).
// CHECK-LABEL: func.func @written
func.func @written(%x: !torch.tensor<[4],f32>) -> !torch.tensor {
  %int1 = torch.constant.int 1
  // CHECK: torch.aten.mul.Scalar
  %z = torch.aten.mul.Scalar %x, %int1 : !torch.tensor<[4],f32>, !torch.int -> !torch.tensor<[4],f32>
  %w = torch.aten.add_.Scalar %x, %int1, %int1 : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor
  %r = torch.aten.tanh %z : !torch.tensor<[4],f32> -> !torch.tensor
  return %r : !torch.tensor
}

// -----
// Two results would become one (test_peephole_no_output_aliasing), or one the argument.
// CHECK-LABEL: func.func @results
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[4],f32>
func.func @results(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %int1 = torch.constant.int 1
  // CHECK: %[[T:.*]] = torch.aten.tanh
  %t = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // CHECK: %[[A:.*]] = torch.aten.mul.Scalar %[[X]]
  %0 = torch.aten.mul.Scalar %x, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.mul.Scalar %t, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  // CHECK: %[[B:.*]] = torch.aten.mul.Scalar %[[T]]
  %2 = torch.aten.mul.Scalar %t, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  // CHECK: return %[[A]], %[[T]], %[[B]]
  return %0, %1, %2 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}

// -----
// test_conv_dim_folding; a batch may be missing, so it is the input's rank.
// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: !torch.tensor<[1,3,8,8],f32>, %u: !torch.tensor, %w: !torch.tensor, %n: !torch.list<int>) -> (!torch.int, !torch.int, !torch.int) {
  %none = torch.constant.none
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.conv2d %x, %w, %none, %l, %l, %l, %int1 : !torch.tensor<[1,3,8,8],f32>, !torch.tensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.tensor
  // CHECK: torch.aten.dim
  %1 = torch.aten.dim %0 : !torch.tensor -> !torch.int
  %2 = torch.aten.resize_ %0, %n, %none : !torch.tensor, !torch.list<int>, !torch.none -> !torch.tensor
  %3 = torch.aten.conv2d %u, %w, %none, %l, %l, %l, %int1 : !torch.tensor, !torch.tensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.tensor
  // CHECK: torch.aten.dim
  %4 = torch.aten.dim %3 : !torch.tensor -> !torch.int
  return %1, %4, %int1 : !torch.int, !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @rank_of_a_convolution
func.func @rank_of_a_convolution(%x: !torch.vtensor<[1,3,8,8],f32>, %y: !torch.vtensor<[3,8,8],f32>, %w: !torch.vtensor) -> (!torch.int, !torch.int) {
  %none = torch.constant.none
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.conv2d %x, %w, %none, %l, %l, %l, %int1 : !torch.vtensor<[1,3,8,8],f32>, !torch.vtensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor
  // CHECK: %[[R:.*]] = torch.constant.int 4
  %1 = torch.aten.dim %0 : !torch.vtensor -> !torch.int
  %2 = torch.aten.conv2d %y, %w, %none, %l, %l, %l, %int1 : !torch.vtensor<[3,8,8],f32>, !torch.vtensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor
  // CHECK: %[[S:.*]] = torch.constant.int 3
  %3 = torch.aten.dim %2 : !torch.vtensor -> !torch.int
  // CHECK: return %[[R]], %[[S]]
  return %1, %3 : !torch.int, !torch.int
}

// -----
// Every rule asks a type.
// OFF-LABEL: func.func @types_not_trusted
// OFF: torch.aten.mul.Scalar
// OFF: torch.aten.dim
func.func @types_not_trusted(%x: !torch.vtensor<[1,3,8,8],f32>, %w: !torch.vtensor) -> (!torch.vtensor, !torch.int) {
  %none = torch.constant.none
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.mul.Scalar %x, %int1 : !torch.vtensor<[1,3,8,8],f32>, !torch.int -> !torch.vtensor<[1,3,8,8],f32>
  %1 = torch.aten.conv2d %0, %w, %none, %l, %l, %l, %int1 : !torch.vtensor<[1,3,8,8],f32>, !torch.vtensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor
  %2 = torch.aten.dim %1 : !torch.vtensor -> !torch.int
  return %1, %2 : !torch.vtensor, !torch.int
}

// -----
// Adding -0.0 changes nothing; subtracting it, or another number, or so many times, does. A bool minus a number raises.
// CHECK-LABEL: func.func @additions
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[4],f32>, %[[N:[a-z0-9]+]]: !torch.vtensor<[4],si64>, %[[B:[a-z0-9]+]]: !torch.vtensor<[4],i1>
func.func @additions(%x: !torch.vtensor<[4],f32>, %n: !torch.vtensor<[4],si64>, %b: !torch.vtensor<[4],i1>)
    -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int5 = torch.constant.int 5
  %minus = torch.constant.float -0.000000e+00
  %0 = torch.aten.add.Scalar %x, %minus, %int1 : !torch.vtensor<[4],f32>, !torch.float, !torch.int -> !torch.vtensor<[4],f32>
  // CHECK: torch.aten.tanh %[[X]]
  %1 = torch.aten.tanh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor
  // CHECK: %[[S:.*]] = torch.aten.sub.Scalar %[[X]]
  %2 = torch.aten.sub.Scalar %x, %minus, %int1 : !torch.vtensor<[4],f32>, !torch.float, !torch.int -> !torch.vtensor<[4],f32>
  // CHECK-NEXT: torch.aten.tanh %[[S]]
  %3 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
  // CHECK-NEXT: torch.aten.add.Scalar %[[N]]
  %4 = torch.aten.add.Scalar %n, %int5, %int1 : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
  %5 = torch.aten.neg %4 : !torch.vtensor<[4],si64> -> !torch.vtensor
  // CHECK: torch.aten.add.Scalar %[[N]]
  %6 = torch.aten.add.Scalar %n, %int5, %int2 : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
  %7 = torch.aten.neg %6 : !torch.vtensor<[4],si64> -> !torch.vtensor
  // CHECK: torch.aten.sub.Scalar %[[B]]
  %8 = torch.aten.sub.Scalar %b, %int0, %int1 : !torch.vtensor<[4],i1>, !torch.int, !torch.int -> !torch.vtensor<[4],i1>
  %9 = torch.aten.logical_not %8 : !torch.vtensor<[4],i1> -> !torch.vtensor
  return %1, %3, %5, %7, %9 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// A result of which two elements are one place in memory would be written twice at once; a literal not at all.
// CHECK-LABEL: func.func @memory_of_its_own
// CHECK-COUNT-2: torch.aten.mul.Scalar
func.func @memory_of_its_own(%x: !torch.vtensor<[1],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[1],f32>) {
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %false = torch.constant.bool false
  %l = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  %t = torch.aten.tanh %x : !torch.vtensor<[1],f32> -> !torch.vtensor<[1],f32>
  %e = torch.aten.expand %t, %l, %false : !torch.vtensor<[1],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[4],f32>
  %0 = torch.aten.mul.Scalar %e, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %c = torch.vtensor.literal(dense<2.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
  %1 = torch.aten.mul.Scalar %c, %int1 : !torch.vtensor<[1],f32>, !torch.int -> !torch.vtensor<[1],f32>
  return %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[1],f32>
}

// -----
// The rank of an argument, and of what is no convolution; of one whose input has got other sizes since.
// CHECK-LABEL: func.func @ranks_that_stay
// CHECK-COUNT-3: torch.aten.dim
func.func @ranks_that_stay(%x: !torch.tensor<[1,3,8,8],f32>, %y: !torch.vtensor<[2,3],f32>, %w: !torch.vtensor, %n: !torch.list<int>) -> (!torch.int, !torch.int, !torch.int) {
  %none = torch.constant.none
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.dim %y : !torch.vtensor<[2,3],f32> -> !torch.int
  %s = torch.aten.sum %y, %none : !torch.vtensor<[2,3],f32>, !torch.none -> !torch.vtensor
  %1 = torch.aten.dim %s : !torch.vtensor -> !torch.int
  %2 = torch.aten.conv2d %x, %w, %none, %l, %l, %l, %int1 : !torch.tensor<[1,3,8,8],f32>, !torch.vtensor, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor
  %r = torch.aten.resize_ %x, %n, %none : !torch.tensor<[1,3,8,8],f32>, !torch.list<int>, !torch.none -> !torch.tensor
  %3 = torch.aten.dim %2 : !torch.vtensor -> !torch.int
  return %0, %1, %3 : !torch.int, !torch.int, !torch.int
}
