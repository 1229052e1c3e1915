// RUN: tierup-opt %s --tierup-lower-simple-tuples --tierup-verify-graph | FileCheck %s
// RUN: tierup-opt %s --tierup-lower-simple-tuples --tierup-lower-simple-tuples | FileCheck %s

// CHECK-LABEL: func.func @unpack_and_index
// CHECK-NEXT: [[R:%.+]] = torch.aten.add.Tensor %arg0, %arg1, %arg2
// CHECK-NEXT: return [[R]]
func.func @unpack_and_index(%x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %last = torch.constant.int -1
  %zero = torch.constant.int 0
  %t = torch.prim.TupleConstruct %x, %y, %n : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.tuple<vtensor, vtensor, int>
  %0:3 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, vtensor, int> -> !torch.vtensor, !torch.vtensor, !torch.int
  %1 = torch.prim.TupleIndex %t, %last : !torch.tuple<vtensor, vtensor, int>, !torch.int -> !torch.int
  %2 = torch.prim.TupleIndex %t, %zero : !torch.tuple<vtensor, vtensor, int>, !torch.int -> !torch.vtensor
  %3 = torch.aten.add.Tensor %2, %0#1, %1 : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  return %3 : !torch.vtensor
}

// CHECK-LABEL: func.func @nested
// CHECK-NEXT: return %arg1, %arg0
func.func @nested(%x: !torch.vtensor, %n: !torch.int) -> (!torch.int, !torch.vtensor) {
  %one = torch.constant.int 1
  %s = torch.prim.TupleConstruct %x, %n : !torch.vtensor, !torch.int -> !torch.tuple<vtensor, int>
  %t = torch.prim.TupleConstruct %n, %s : !torch.int, !torch.tuple<vtensor, int> -> !torch.tuple<int, tuple<vtensor, int>>
  %0 = torch.prim.TupleIndex %t, %one : !torch.tuple<int, tuple<vtensor, int>>, !torch.int -> !torch.tuple<vtensor, int>
  %1:2 = torch.prim.TupleUnpack %0 : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
  return %1#1, %1#0 : !torch.int, !torch.vtensor
}

// What the tuple said less of, its users know no more of.
// CHECK-LABEL: func.func @less_is_known_of_an_element
// CHECK-NEXT: [[X:%.+]] = torch.tensor_static_info_cast %arg0 : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK-NEXT: [[N:%.+]] = torch.derefine %arg1 : !torch.int to !torch.optional<int>
// CHECK-NEXT: return [[X]], [[N]]
func.func @less_is_known_of_an_element(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> (!torch.vtensor, !torch.optional<int>) {
  %t = torch.prim.TupleConstruct %x, %n : !torch.vtensor<[4],f32>, !torch.int -> !torch.tuple<vtensor, optional<int>>
  %0:2 = torch.prim.TupleUnpack %t : !torch.tuple<vtensor, optional<int>> -> !torch.vtensor, !torch.optional<int>
  return %0#0, %0#1 : !torch.vtensor, !torch.optional<int>
}

// Tuples from elsewhere, one whose position only the run knows, and one whose position raises; a tuple that is returned stays, though it is also taken apart.
// CHECK-LABEL: func.func @left
// CHECK: torch.prim.TupleUnpack %arg0
// CHECK: [[T:%.+]] = torch.prim.TupleConstruct
// CHECK: torch.prim.TupleIndex [[T]], %arg1
// CHECK: torch.prim.TupleIndex [[T]], %int2
// CHECK: torch.prim.If
// CHECK: torch.prim.TupleUnpack
// CHECK: return [[T]]
func.func @left(%p: !torch.tuple<vtensor, int>, %i: !torch.int, %c: !torch.bool) -> (!torch.tuple<int, int>, !torch.int, !torch.int) {
  %0:2 = torch.prim.TupleUnpack %p : !torch.tuple<vtensor, int> -> !torch.vtensor, !torch.int
  %t = torch.prim.TupleConstruct %0#1, %i : !torch.int, !torch.int -> !torch.tuple<int, int>
  %1 = torch.prim.TupleIndex %t, %i : !torch.tuple<int, int>, !torch.int -> !torch.int
  %two = torch.constant.int 2
  %out = torch.prim.TupleIndex %t, %two : !torch.tuple<int, int>, !torch.int -> !torch.int
  %2 = torch.prim.If %c -> (!torch.tuple<int, int>) {
    torch.prim.If.yield %t : !torch.tuple<int, int>
  } else {
    torch.prim.If.yield %t : !torch.tuple<int, int>
  }
  %3:2 = torch.prim.TupleUnpack %2 : !torch.tuple<int, int> -> !torch.int, !torch.int
  %4:2 = torch.prim.TupleUnpack %t : !torch.tuple<int, int> -> !torch.int, !torch.int
  return %t, %1, %3#0 : !torch.tuple<int, int>, !torch.int, !torch.int
}
