// RUN: tierup-opt %s --tierup-peephole-core --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-core,tierup-peephole-core)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2,?,4],f16>
func.func @sizes(%x: !torch.vtensor<[2,?,4],f16>) -> (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.bool, !torch.int) {
  %last = torch.constant.int -1
  %mid = torch.constant.int -2
  %out = torch.constant.int 3
  // CHECK: %[[OUT:.*]] = torch.constant.int 3
  // CHECK: %[[LAST:.*]] = torch.constant.int 4
  %0 = torch.aten.size.int %x, %last : !torch.vtensor<[2,?,4],f16>, !torch.int -> !torch.int
  // CHECK: %[[MID:.*]] = torch.aten.size.int %[[X]], %
  %1 = torch.aten.size.int %x, %mid : !torch.vtensor<[2,?,4],f16>, !torch.int -> !torch.int
  // Out of range: the exception stays.
  // CHECK: %[[ERROR:.*]] = torch.aten.size.int %[[X]], %[[OUT]]
  %2 = torch.aten.size.int %x, %out : !torch.vtensor<[2,?,4],f16>, !torch.int -> !torch.int
  // CHECK: %[[RANK:.*]] = torch.constant.int 3
  %3 = torch.aten.dim %x : !torch.vtensor<[2,?,4],f16> -> !torch.int
  // CHECK: %[[F16:.*]] = torch.constant.int 5
  %4 = torch.prim.dtype %x : !torch.vtensor<[2,?,4],f16> -> !torch.int
  // CHECK: %[[FLOAT:.*]] = torch.constant.bool true
  %5 = torch.aten.is_floating_point %x : !torch.vtensor<[2,?,4],f16> -> !torch.bool
  // CHECK: %[[LEN:.*]] = torch.constant.int 2
  %6 = torch.aten.len.Tensor %x : !torch.vtensor<[2,?,4],f16> -> !torch.int
  // CHECK: return %[[LAST]], %[[MID]], %[[ERROR]], %[[RANK]], %[[F16]], %[[FLOAT]], %[[LEN]]
  return %0, %1, %2, %3, %4, %5, %6 : !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.bool, !torch.int
}

// -----
// CHECK-LABEL: func.func @lists_of_sizes
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2,3],f32>, %[[Y:[a-z0-9]+]]: !torch.vtensor, %[[Z:[a-z0-9]+]]: !torch.vtensor<[2,?],f32>
func.func @lists_of_sizes(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor, %z: !torch.vtensor<[2,?],f32>)
    -> (!torch.list<int>, !torch.int, !torch.int, !torch.int, !torch.int) {
  %last = torch.constant.int -1
  // CHECK: %[[SIZES:.*]] = torch.prim.ListConstruct %int2{{.*}}, %int3
  %0 = torch.aten.size %x : !torch.vtensor<[2,3],f32> -> !torch.list<int>
  // CHECK: %[[RANK:.*]] = torch.aten.dim %[[Y]]
  %1 = torch.aten.size %y : !torch.vtensor -> !torch.list<int>
  %2 = torch.aten.len.t %1 : !torch.list<int> -> !torch.int
  // CHECK: %[[UNKNOWN:.*]] = torch.aten.__getitem__.t
  %3 = torch.aten.__getitem__.t %1, %last : !torch.list<int>, !torch.int -> !torch.int
  // CHECK: %[[SIZE:.*]] = torch.aten.size.int %[[Z]], %int1
  %4 = torch.aten.size %z : !torch.vtensor<[2,?],f32> -> !torch.list<int>
  %5 = torch.aten.__getitem__.t %4, %last : !torch.list<int>, !torch.int -> !torch.int
  // CHECK: %[[NUMEL:.*]] = torch.constant.int 6
  %6 = torch.aten.numel %x : !torch.vtensor<[2,3],f32> -> !torch.int
  // CHECK: return %[[SIZES]], %[[RANK]], %[[UNKNOWN]], %[[SIZE]], %[[NUMEL]]
  return %0, %2, %3, %5, %6 : !torch.list<int>, !torch.int, !torch.int, !torch.int, !torch.int
}

// -----
// Somebody may make the list longer.
// CHECK-LABEL: func.func @a_list_that_grows
func.func @a_list_that_grows(%y: !torch.vtensor, %n: !torch.int) -> !torch.int {
  %0 = torch.aten.size %y : !torch.vtensor -> !torch.list<int>
  %1 = torch.aten.append.t %0, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: torch.aten.len.t
  %2 = torch.aten.len.t %0 : !torch.list<int> -> !torch.int
  return %2 : !torch.int
}

// -----
// CHECK-LABEL: func.func @transposed_twice
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2,3],f32>, %[[Y:[a-z0-9]+]]: !torch.vtensor
func.func @transposed_twice(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32>
  %1 = torch.aten.t %0 : !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,3],f32>
  // CHECK: torch.aten.tanh %[[X]]
  %2 = torch.aten.tanh %1 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
  // Of rank 3, t raises: without a rank it stays.
  // CHECK: torch.aten.t %[[Y]]
  // CHECK: %[[T:.*]] = torch.aten.t
  %3 = torch.aten.t %y : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.t %3 : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.tanh %[[T]]
  %5 = torch.aten.tanh %4 : !torch.vtensor -> !torch.vtensor
  return %2, %5 : !torch.vtensor, !torch.vtensor
}

// -----
// The caller gets a view of the argument, not the argument.
// CHECK-LABEL: func.func @a_view_that_is_returned
func.func @a_view_that_is_returned(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  // CHECK: torch.aten.t
  // CHECK: %[[R:.*]] = torch.aten.t
  %0 = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32>
  %1 = torch.aten.t %0 : !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,3],f32>
  // CHECK: return %[[R]]
  return %1 : !torch.vtensor<[2,3],f32>
}

// -----
// CHECK-LABEL: func.func @expanded_to_itself
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2,3],f32>
func.func @expanded_to_itself(%x: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %false = torch.constant.bool false
  %int2 = torch.constant.int 2
  %keep = torch.constant.int -1
  %l = torch.prim.ListConstruct %int2, %keep : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK-NOT: torch.aten.expand %[[X]], %[[X]]
  %0 = torch.aten.expand %x, %l, %false : !torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,3],f32>
  // CHECK: torch.aten.tanh %[[X]]
  %1 = torch.aten.tanh %0 : !torch.vtensor<[2,3],f32> -> !torch.vtensor
  %m = torch.prim.ListConstruct %int2, %int2, %keep : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  // CHECK: %[[E:.*]] = torch.aten.expand
  %2 = torch.aten.expand %x, %m, %false : !torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,2,3],f32>
  // CHECK: torch.aten.tanh %[[E]]
  %3 = torch.aten.tanh %2 : !torch.vtensor<[2,2,3],f32> -> !torch.vtensor
  return %1, %3 : !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @type_as
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2],f32>, %[[Y:[a-z0-9]+]]: !torch.vtensor<[3],f32>, %[[D:[a-z0-9]+]]: !torch.vtensor<[3],f64>, %[[U:[a-z0-9]+]]: !torch.vtensor
func.func @type_as(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[3],f32>, %d: !torch.vtensor<[3],f64>, %u: !torch.vtensor)
    -> (!torch.vtensor<[2],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  // The op gives x itself, and so may the function.
  %0 = torch.aten.type_as %x, %y : !torch.vtensor<[2],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[2],f32>
  // CHECK: %[[A:.*]] = torch.aten.type_as %[[X]], %[[D]]
  %1 = torch.aten.type_as %x, %d : !torch.vtensor<[2],f32>, !torch.vtensor<[3],f64> -> !torch.vtensor
  // CHECK: %[[B:.*]] = torch.aten.type_as %[[X]], %[[U]]
  %2 = torch.aten.type_as %x, %u : !torch.vtensor<[2],f32>, !torch.vtensor -> !torch.vtensor
  // CHECK: %[[C:.*]] = torch.aten.type_as %[[U]], %[[U]]
  %3 = torch.aten.type_as %u, %u : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  // CHECK: return %[[X]], %[[A]], %[[B]], %[[C]]
  return %0, %1, %2, %3 : !torch.vtensor<[2],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @numbers
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[F:[a-z0-9]+]]: !torch.float
func.func @numbers(%n: !torch.int, %f: !torch.float) -> (!torch.int, !torch.float, !torch.int, !torch.number) {
  %a = torch.derefine %n : !torch.int to !torch.number
  %b = torch.derefine %f : !torch.float to !torch.number
  %0 = torch.prim.NumToTensor.Scalar %a : !torch.number -> !torch.vtensor<[],si64>
  %1 = torch.prim.NumToTensor.Scalar %b : !torch.number -> !torch.vtensor<[],f64>
  %2 = torch.aten.Int.Tensor %0 : !torch.vtensor<[],si64> -> !torch.int
  %3 = torch.aten.Float.Tensor %1 : !torch.vtensor<[],f64> -> !torch.float
  // This one converts.
  // CHECK: %[[I:.*]] = torch.aten.Int.Tensor
  %4 = torch.aten.Int.Tensor %1 : !torch.vtensor<[],f64> -> !torch.int
  // CHECK: %[[A:.*]] = torch.derefine %[[N]]
  %5 = torch.aten.ScalarImplicit %0 : !torch.vtensor<[],si64> -> !torch.number
  // CHECK: return %[[N]], %[[F]], %[[I]], %[[A]]
  return %2, %3, %4, %5 : !torch.int, !torch.float, !torch.int, !torch.number
}

// -----
// CHECK-LABEL: func.func @sum_to_size
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor, %[[S:[a-z0-9]+]]: !torch.list<int>, %[[R:[a-z0-9]+]]: !torch.list<int>
func.func @sum_to_size(%x: !torch.vtensor, %s: !torch.list<int>, %r: !torch.list<int>) -> (!torch.vtensor, !torch.vtensor) {
  %none = torch.constant.none
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %none) : (!torch.vtensor, !torch.none) -> !torch.vtensor
  // CHECK: torch.aten.tanh %[[X]]
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.operator "aten._grad_sum_to_size"(%x, %s) : (!torch.vtensor, !torch.list<int>) -> !torch.vtensor
  // CHECK: %[[SUM:.*]] = torch.operator "aten._grad_sum_to_size"(%[[X]], %[[R]])
  %3 = torch.operator "aten._grad_sum_to_size"(%2, %r) : (!torch.vtensor, !torch.list<int>) -> !torch.vtensor
  // CHECK: torch.aten.tanh %[[SUM]]
  %4 = torch.aten.tanh %3 : !torch.vtensor -> !torch.vtensor
  return %1, %4 : !torch.vtensor, !torch.vtensor
}

// -----
// An op that nobody knows may resize what it gets.
// CHECK-LABEL: func.func @resized
func.func @resized(%x: !torch.tensor<[2],f32>, %n: !torch.list<int>) -> !torch.int {
  %none = torch.constant.none
  %int0 = torch.constant.int 0
  %0 = torch.aten.resize_ %x, %n, %none : !torch.tensor<[2],f32>, !torch.list<int>, !torch.none -> !torch.tensor
  // CHECK: torch.aten.size.int
  %1 = torch.aten.size.int %x, %int0 : !torch.tensor<[2],f32>, !torch.int -> !torch.int
  return %1 : !torch.int
}

// -----
// NumPy's astype gives x itself as well.
// CHECK-LABEL: func.func @type_as_of_numpy
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2],f32>
func.func @type_as_of_numpy(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  // CHECK-NEXT: return %[[X]]
  %0 = torch.aten.type_as %x, %x {tierup.promotion = "numpy"} : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----
// The list says something else by then.
// CHECK-LABEL: func.func @expanded_to_a_list_that_changes
func.func @expanded_to_a_list_that_changes(%x: !torch.vtensor<[1],f32>, %n: !torch.int) -> !torch.vtensor {
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %w = torch.aten._set_item.t %l, %int0, %n : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  // CHECK: %[[E:.*]] = torch.aten.expand
  %0 = torch.aten.expand %x, %l, %false : !torch.vtensor<[1],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor
  // CHECK: torch.aten.tanh %[[E]]
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Of rank 3 t raises.
// CHECK-LABEL: func.func @rank_3
// CHECK-COUNT-2: torch.aten.t %
func.func @rank_3(%x: !torch.vtensor<[2,3,4],f32>) -> !torch.vtensor {
  %0 = torch.aten.t %x : !torch.vtensor<[2,3,4],f32> -> !torch.vtensor
  %1 = torch.aten.t %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}

// -----
// A number that came from nowhere, and one that was written over.
// CHECK-LABEL: func.func @numbers_that_stay
// CHECK-COUNT-2: torch.aten.Int.Tensor
func.func @numbers_that_stay(%x: !torch.vtensor<[],si64>, %n: !torch.int) -> (!torch.int, !torch.int) {
  %0 = torch.aten.Int.Tensor %x : !torch.vtensor<[],si64> -> !torch.int
  %t = torch.prim.NumToTensor.Scalar %n : !torch.int -> !torch.tensor<[],si64>
  %w = torch.aten.zero_ %t : !torch.tensor<[],si64> -> !torch.tensor<[],si64>
  %1 = torch.aten.Int.Tensor %t : !torch.tensor<[],si64> -> !torch.int
  return %0, %1 : !torch.int, !torch.int
}

// -----
// Another op of two operands, the second of which is None.
// CHECK-LABEL: func.func @another_operator
// CHECK: torch.operator "aten._other"
func.func @another_operator(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor {
  %none = torch.constant.none
  %0 = torch.operator "aten._other"(%x, %none) : (!torch.vtensor<[2],f32>, !torch.none) -> !torch.vtensor<[2],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[2],f32> -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// A tensor that is only written keeps its sizes; one without elements has none; unknown sizes, and rank 0, stay.
// CHECK-LABEL: func.func @counts
// CHECK-DAG: %[[THREE:.*]] = torch.constant.int 3
// CHECK-DAG: %[[ZERO:.*]] = torch.constant.int 0
// CHECK-DAG: %[[U:.*]] = torch.aten.numel %arg2
// CHECK-DAG: %[[V:.*]] = torch.aten.numel %arg3
// CHECK-DAG: %[[W:.*]] = torch.aten.len.Tensor %arg2
// CHECK-DAG: %[[X:.*]] = torch.aten.len.Tensor %arg3
// CHECK-DAG: %[[Y:.*]] = torch.aten.len.Tensor %arg4
// CHECK: return %[[THREE]], %[[ZERO]], %[[U]], %[[V]], %[[W]], %[[X]], %[[Y]]
func.func @counts(%x: !torch.tensor<[3,2],f32>, %e: !torch.vtensor<[0,3],f32>, %u: !torch.vtensor, %v: !torch.vtensor<[?,3],f32>, %r: !torch.vtensor<[],f32>)
    -> (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int) {
  %w = torch.aten.zero_ %x : !torch.tensor<[3,2],f32> -> !torch.tensor<[3,2],f32>
  %0 = torch.aten.len.Tensor %x : !torch.tensor<[3,2],f32> -> !torch.int
  %1 = torch.aten.numel %e : !torch.vtensor<[0,3],f32> -> !torch.int
  %2 = torch.aten.numel %u : !torch.vtensor -> !torch.int
  %3 = torch.aten.numel %v : !torch.vtensor<[?,3],f32> -> !torch.int
  %4 = torch.aten.len.Tensor %u : !torch.vtensor -> !torch.int
  %5 = torch.aten.len.Tensor %v : !torch.vtensor<[?,3],f32> -> !torch.int
  %6 = torch.aten.len.Tensor %r : !torch.vtensor<[],f32> -> !torch.int
  return %0, %1, %2, %3, %4, %5, %6 : !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int
}

// -----
// The sizes were changed before they are asked for again: as a list's item, and as what to expand to. A list of the caller's.
// CHECK-LABEL: func.func @changed_sizes
// CHECK: torch.aten.__getitem__.t
// CHECK: torch.aten.__getitem__.t %arg2
// CHECK: torch.aten.expand
func.func @changed_sizes(%v: !torch.vtensor<[?,3],f32>, %x: !torch.tensor<[1,3],f32>, %caller: !torch.list<int>) -> (!torch.int, !torch.int, !torch.tensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int5 = torch.constant.int 5
  %false = torch.constant.bool false
  %s = torch.aten.size %v : !torch.vtensor<[?,3],f32> -> !torch.list<int>
  %w = torch.aten._set_item.t %s, %int1, %int5 : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  %0 = torch.aten.__getitem__.t %s, %int1 : !torch.list<int>, !torch.int -> !torch.int
  %1 = torch.aten.__getitem__.t %caller, %int1 : !torch.list<int>, !torch.int -> !torch.int
  %t = torch.aten.size %x : !torch.tensor<[1,3],f32> -> !torch.list<int>
  %u = torch.aten._set_item.t %t, %int0, %int5 : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  %2 = torch.aten.expand %x, %t, %false : !torch.tensor<[1,3],f32>, !torch.list<int>, !torch.bool -> !torch.tensor
  return %0, %1, %2 : !torch.int, !torch.int, !torch.tensor
}
