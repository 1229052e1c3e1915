// RUN: tierup-opt %s --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// The backward graph of grad.mlir, as autodiff made it. %t1 to %t7 are gradients of values that nobody but it reads.
// Definitions of optional sizes are watched, eight as there, and uses of tensors. The product of y * y is computed once.

// CHECK-COUNT-68: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @grad_backward(
    %out: !torch.vtensor {tierup.name = "out"}, %t1: !torch.vtensor {tierup.name = "t1"}, %t2: !torch.vtensor {tierup.name = "t2"},
    %t3: !torch.vtensor {tierup.name = "t3"}, %t4: !torch.vtensor {tierup.name = "t4"}, %t5: !torch.vtensor {tierup.name = "t5"},
    %t6: !torch.vtensor {tierup.name = "t6"}, %t7: !torch.vtensor {tierup.name = "t7"}, %x: !torch.vtensor {tierup.name = "x"},
    %w: !torch.vtensor {tierup.name = "w"}, %s: !torch.vtensor {tierup.name = "s"}, %y: !torch.vtensor {tierup.name = "y"},
    %size0: !torch.optional<list<int>> {tierup.name = "size0"}, %size1: !torch.optional<list<int>> {tierup.name = "size1"},
    %size2: !torch.optional<list<int>> {tierup.name = "size2"}, %size3: !torch.optional<list<int>> {tierup.name = "size3"},
    %size4: !torch.optional<list<int>> {tierup.name = "size4"}, %size5: !torch.optional<list<int>> {tierup.name = "size5"},
    %size6: !torch.optional<list<int>> {tierup.name = "size6"}, %size7: !torch.optional<list<int>> {tierup.name = "size7"}
) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  // y * y
  %0:2 = "tierup.grad_of"(%out) ({
    %a = torch.aten.mul.Tensor %out, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %b = torch.operator "aten._grad_sum_to_size"(%a, %size0) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    %c = torch.aten.mul.Tensor %out, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %d = torch.operator "aten._grad_sum_to_size"(%c, %size1) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    "tierup.yield"(%b, %d) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  }) {op = "aten.mul.Tensor"} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  %1 = "tierup.autograd_add"(%t7, %0#1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %2 = "tierup.autograd_add"(%t6, %0#0) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %3 = "tierup.autograd_add"(%1, %2) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  // sigmoid * x
  %4:2 = "tierup.grad_of"(%3) ({
    %a = torch.aten.mul.Tensor %3, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %b = torch.operator "aten._grad_sum_to_size"(%a, %size2) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    %c = torch.aten.mul.Tensor %3, %s : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %d = torch.operator "aten._grad_sum_to_size"(%c, %size3) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    "tierup.yield"(%b, %d) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  }) {op = "aten.mul.Tensor"} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  %5 = "tierup.autograd_add"(%t5, %4#1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %6 = "tierup.autograd_add"(%t4, %4#0) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %7 = "tierup.autograd_add"(%t3, %6) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  // sigmoid
  %8 = "tierup.grad_of"(%7) ({
    %a = torch.aten.neg %s : !torch.vtensor -> !torch.vtensor
    %b = torch.aten.add.Scalar %a, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
    %c = torch.aten.mul.Tensor %b, %s : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %d = torch.aten.mul.Tensor %c, %7 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%d) : (!torch.vtensor) -> ()
  }, {
  }) {op = "aten.sigmoid"} : (!torch.vtensor) -> !torch.vtensor
  // x * w + b, the addition
  %9:2 = "tierup.grad_of"(%8) ({
    %b = torch.operator "aten._grad_sum_to_size"(%8, %size4) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    %d = torch.operator "aten._grad_sum_to_size"(%8, %size5) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    "tierup.yield"(%b, %d) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  }) {op = "aten.add.Tensor"} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  // x * w + b, the product
  %10:2 = "tierup.grad_of"(%9#0) ({
    %a = torch.aten.mul.Tensor %9#0, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %b = torch.operator "aten._grad_sum_to_size"(%a, %size6) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    %c = torch.aten.mul.Tensor %9#0, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %d = torch.operator "aten._grad_sum_to_size"(%c, %size7) : (!torch.vtensor, !torch.optional<list<int>>) -> !torch.vtensor
    "tierup.yield"(%b, %d) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  }) {op = "aten.mul.Tensor"} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  %11 = "tierup.autograd_add"(%t2, %10#1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %12 = "tierup.autograd_add"(%t1, %10#0) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %13 = "tierup.autograd_add"(%5, %12) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %13, %9#1, %11 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}
