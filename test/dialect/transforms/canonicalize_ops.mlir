// RUN: tierup-opt %s --tierup-canonicalize-ops --tierup-verify-graph | FileCheck %s
// RUN: tierup-opt %s --tierup-canonicalize-ops --tierup-canonicalize-ops | FileCheck %s
// RUN: tierup-opt %s --tierup-canonicalize-ops="chunks=false" | FileCheck %s --check-prefix=LISTS

// CHECK-LABEL: func.func @scalars
// CHECK-NOT: literal
// CHECK: [[C:%.+]] = torch.constant.float 2.5{{.*}}
// CHECK-NEXT: torch.aten.add.Scalar %arg0, [[C]], %int1 : !torch.vtensor<[4],f32>, !torch.float, !torch.int -> !torch.vtensor<[4],f32>
// CHECK: torch.aten.sub.Scalar %arg0
// CHECK: torch.aten.mul.Scalar %arg1
// CHECK: torch.aten.div.Scalar %arg1
// CHECK: torch.aten.mul.Scalar %arg2
// CHECK-NOT: NumToTensor
// CHECK: return
func.func @scalars(%x: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[4],si32>, %h: !torch.vtensor<[4],f16>)
    -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f16>) {
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %f16 = torch.vtensor.literal(dense<2.5> : tensor<f16>) : !torch.vtensor<[],f16>
  %f64 = torch.vtensor.literal(dense<0.5> : tensor<f64>) : !torch.vtensor<[],f64>
  %i64 = torch.vtensor.literal(dense<-3> : tensor<si64>) : !torch.vtensor<[],si64>
  %n = torch.prim.NumToTensor.Scalar %three : !torch.int -> !torch.vtensor<[],si64>
  %0 = torch.aten.add.Tensor %x, %f16, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[],f16>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.sub.Tensor %x, %f64, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor<[4],f32>
  %2 = torch.aten.mul.Tensor %i, %i64 : !torch.vtensor<[4],si32>, !torch.vtensor<[],si64> -> !torch.vtensor<[4],si32>
  %3 = torch.aten.div.Tensor %i, %n : !torch.vtensor<[4],si32>, !torch.vtensor<[],si64> -> !torch.vtensor<[4],f32>
  %4 = torch.aten.mul.Tensor %h, %i64 : !torch.vtensor<[4],f16>, !torch.vtensor<[],si64> -> !torch.vtensor<[4],f16>
  return %0, %1, %2, %3, %4 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f16>
}

// A float64 constant makes a float64 of integers, a number would make a float32; another tensor of rank 0 is promoted to float64 by it;
// 0.1 is not exact in float32; 300 is none of uint8; alpha; NumPy's rules; bools; the first operand's dtype is not known; rank 1.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-3: torch.aten.add.Tensor
// CHECK: torch.aten.mul.Tensor
// CHECK-COUNT-4: torch.aten.add.Tensor
// CHECK: torch.aten.mul.Tensor
func.func @left(%x: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[4],si64>, %z: !torch.vtensor<[],f32>, %b: !torch.vtensor<[4],ui8>, %u: !torch.vtensor) {
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %half = torch.vtensor.literal(dense<0.5> : tensor<f64>) : !torch.vtensor<[],f64>
  %tenth = torch.vtensor.literal(dense<0.1> : tensor<f64>) : !torch.vtensor<[],f64>
  %many = torch.vtensor.literal(dense<300> : tensor<si64>) : !torch.vtensor<[],si64>
  %true = torch.vtensor.literal(dense<true> : tensor<i1>) : !torch.vtensor<[],i1>
  %one_d = torch.vtensor.literal(dense<0.5> : tensor<1xf64>) : !torch.vtensor<[1],f64>
  %0 = torch.aten.add.Tensor %i, %half, %one : !torch.vtensor<[4],si64>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %1 = torch.aten.add.Tensor %z, %half, %one : !torch.vtensor<[],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %2 = torch.aten.add.Tensor %x, %tenth, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %b, %many : !torch.vtensor<[4],ui8>, !torch.vtensor<[],si64> -> !torch.vtensor
  %4 = torch.aten.add.Tensor %x, %half, %two : !torch.vtensor<[4],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %5 = torch.aten.add.Tensor %x, %half, %one {tierup.promotion = "numpy"} : !torch.vtensor<[4],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %6 = torch.aten.add.Tensor %x, %true, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[],i1>, !torch.int -> !torch.vtensor
  %7 = torch.aten.add.Tensor %u, %half, %one : !torch.vtensor, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor
  %8 = torch.aten.mul.Tensor %x, %one_d : !torch.vtensor<[4],f32>, !torch.vtensor<[1],f64> -> !torch.vtensor
  return
}

// CHECK-LABEL: func.func @chunks
// CHECK: [[A:%.+]]:2 = "tierup.constant_chunk"(%arg0) {chunks = 2 : i64, dim = 1 : i64} : (!torch.vtensor<[2,4],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor)
// CHECK: [[B:%.+]]:3 = "tierup.constant_chunk"(%arg1) {chunks = 3 : i64, dim = -1 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
// CHECK-NOT: chunk
// CHECK-NOT: list
// CHECK: return [[A]]#0, [[A]]#1, [[B]]#2
// LISTS-LABEL: func.func @chunks
// LISTS-NOT: constant_chunk
// LISTS-COUNT-2: torch.aten.chunk
func.func @chunks(%x: !torch.vtensor<[2,4],f32>, %u: !torch.vtensor) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %minus = torch.constant.int -1
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %l = torch.aten.chunk %x, %two, %one : !torch.vtensor<[2,4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %0 = torch.aten.__getitem__.t %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,2],f32>
  %1 = torch.aten.__getitem__.t %l, %minus : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %m = torch.aten.chunk %u, %three, %minus : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %2:3 = torch.prim.ListUnpack %m : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor, !torch.vtensor
  return %0, %1, %2#2 : !torch.vtensor<[2,2],f32>, !torch.vtensor, !torch.vtensor
}

// 5 in 4 chunks are 3; how many there are only the run knows, and a piece is taken; something else in between could raise first; the
// list is returned; the number of chunks is not known.
// CHECK-LABEL: func.func @lists
// CHECK-COUNT-5: torch.aten.chunk
// CHECK-NOT: constant_chunk
func.func @lists(%x: !torch.vtensor<[5],f32>, %u: !torch.vtensor, %n: !torch.int) -> !torch.list<vtensor> {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %a = torch.aten.chunk %x, %four, %zero : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %0:3 = torch.prim.ListUnpack %a : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor, !torch.vtensor
  %b = torch.aten.chunk %u, %two, %zero : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %1 = torch.aten.__getitem__.t %b, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %c = torch.aten.chunk %u, %two, %zero : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %2 = torch.aten.mm %u, %u : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %3:2 = torch.prim.ListUnpack %c : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %d = torch.aten.chunk %x, %two, %zero : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %e = torch.aten.chunk %x, %n, %zero : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %4:2 = torch.prim.ListUnpack %e : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  return %d : !torch.list<vtensor>
}

// The constants that only went into what is gone go too: the number of a tensor, and the positions of pieces.
// CHECK-LABEL: func.func @nothing_unused_stays
// CHECK-NEXT: %[[ONE:.+]] = torch.constant.int 1
// CHECK-NEXT: %[[HALF:.+]] = torch.constant.float 5.0
// CHECK-NEXT: %[[R:.+]] = torch.aten.add.Scalar %arg0, %[[HALF]], %[[ONE]]
// CHECK-NEXT: %[[C:.+]]:2 = "tierup.constant_chunk"(%[[R]])
// CHECK-NEXT: return %[[C]]#0, %[[C]]#1
func.func @nothing_unused_stays(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  %half = torch.constant.float 0.5
  %n = torch.prim.NumToTensor.Scalar %half : !torch.float -> !torch.vtensor<[],f64>
  %0 = torch.aten.add.Tensor %x, %n, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[],f64>, !torch.int -> !torch.vtensor<[4],f32>
  %two = torch.constant.int 2
  %zero = torch.constant.int 0
  %first = torch.constant.int 0
  %second = torch.constant.int 1
  %l = torch.aten.chunk %0, %two, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %1 = torch.aten.__getitem__.t %l, %first : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %2 = torch.aten.__getitem__.t %l, %second : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1, %2 : !torch.vtensor, !torch.vtensor
}

// CHECK-LABEL: func.func @no_number
// CHECK: torch.aten.mul.Tensor %arg0, %arg0
func.func @no_number(%i: !torch.vtensor<[4],si64>) -> !torch.vtensor<[4],si64> {
  %0 = torch.aten.mul.Tensor %i, %i : !torch.vtensor<[4],si64>, !torch.vtensor<[4],si64> -> !torch.vtensor<[4],si64>
  return %0 : !torch.vtensor<[4],si64>
}

// One piece; as many pieces as asked for, if there is nothing to cut.
// CHECK-LABEL: func.func @edges
// CHECK: "tierup.constant_chunk"(%arg0) {chunks = 1
// CHECK: "tierup.constant_chunk"(%arg1) {chunks = 2
func.func @edges(%x: !torch.vtensor<[4],f32>, %e: !torch.vtensor<[0],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %l = torch.aten.chunk %x, %one, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %0 = torch.aten.__getitem__.t %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %m = torch.aten.chunk %e, %two, %zero : !torch.vtensor<[0],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %1 = torch.aten.__getitem__.t %m, %one : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// A piece that does not exist; one that only the run names; three pieces where four were asked for; no pieces, which raises.
// CHECK-LABEL: func.func @pieces
// CHECK-COUNT-4: torch.aten.chunk
// CHECK-NOT: constant_chunk
func.func @pieces(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[5],f32>, %i: !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %a = torch.aten.chunk %x, %two, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %0 = torch.aten.__getitem__.t %a, %two : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %b = torch.aten.chunk %x, %two, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %1 = torch.aten.__getitem__.t %b, %i : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %c = torch.aten.chunk %y, %four, %zero : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %2 = torch.aten.__getitem__.t %c, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %d = torch.aten.chunk %x, %zero, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %3 = torch.aten.__getitem__.t %d, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %0, %1, %2, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}
