// RUN: tierup-opt %s --split-input-file --tierup-verify-strides --verify-diagnostics

// A view of what may lie with any strides raises in tier 0, and as a value it would not.
func.func @strided(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = [2, 3]}}) -> !torch.vtensor<[6],f32> attributes {tierup.entry} {
  %n = torch.constant.int 6
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  // expected-error@below {{'torch.aten.view' op has an operand that need not be row-major}}
  %0 = torch.aten.view %x, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %0 : !torch.vtensor<[6],f32>
}

// -----
func.func @row_major(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [2, 3]}}) -> !torch.vtensor<[6],f32> attributes {tierup.entry} {
  %n = torch.constant.int 6
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %0 : !torch.vtensor<[6],f32>
}

// -----
// Only what is compiled is looked at.
func.func @no_entry(%x: !torch.vtensor<[2,3],f32>, %size: !torch.list<int>) -> !torch.vtensor<[6],f32> {
  %t = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32>
  %0 = torch.aten.view %t, %size : !torch.vtensor<[3,2],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %0 : !torch.vtensor<[6],f32>
}

// -----
// Whether a reshape is a view or a copy decides which results share memory.
func.func @one_memory_or_two(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = [2, 3]}}) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[6],f32>) attributes {tierup.entry, tierup.result_aliases = ["fresh", "may_result:0"], tierup.source = "jit"} {
  %n = torch.constant.int 6
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  // expected-error@below {{'torch.aten.reshape' op has an operand that need not be row-major}}
  %1 = torch.aten.reshape %0, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %0, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[6],f32>
}

// -----
func.func @in_two_anyhow(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = [2, 3]}}) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[6],f32>) attributes {tierup.entry, tierup.result_aliases = ["fresh", "fresh"]} {
  %n = torch.constant.int 6
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.reshape %0, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  %2 = torch.aten.neg %1 : !torch.vtensor<[6],f32> -> !torch.vtensor<[6],f32>
  return %0, %2 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[6],f32>
}

// -----
// Positions lie an axis after another, as PyTorch has them.
func.func @positions(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [2, 3]}}) -> !torch.vtensor<[?],si64> attributes {tierup.entry} {
  %n = torch.constant.int -1
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %p = torch.aten.nonzero %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[?,2],si64>
  // expected-error@below {{'torch.aten.view' op has an operand that need not be row-major}}
  %0 = torch.aten.view %p, %size : !torch.vtensor<[?,2],si64>, !torch.list<int> -> !torch.vtensor<[?],si64>
  return %0 : !torch.vtensor<[?],si64>
}

// -----
// A view that only makes dims several is there for all strides.
func.func @split_dims(%x: !torch.vtensor<[6,4],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = [6, 4]}}) -> !torch.vtensor<[2,1,3,4],f32> attributes {tierup.entry} {
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %size = torch.prim.ListConstruct %two, %one, %three, %four : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %size : !torch.vtensor<[6,4],f32>, !torch.list<int> -> !torch.vtensor<[2,1,3,4],f32>
  return %0 : !torch.vtensor<[2,1,3,4],f32>
}

// -----
// What is made of the elements of a part, and of parts that are joined, has no gaps; what is copied into one lies as it does.
func.func @of_parts(%x: !torch.vtensor<[2,6],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [2, 6]}}) -> (!torch.vtensor<[6],f32>, !torch.vtensor<[12],f32>, !torch.vtensor<[6],f32>) attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %n = torch.constant.int -1
  %false = torch.constant.bool false
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %part = torch.aten.slice.Tensor %x, %one, %zero, %three, %one : !torch.vtensor<[2,6],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2,3],f32>
  %0 = torch.aten.tanh %part : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.view %0, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  %both = torch.prim.ListConstruct %part, %part : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %both, %one : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,6],f32>
  %3 = torch.aten.view %2, %size : !torch.vtensor<[2,6],f32>, !torch.list<int> -> !torch.vtensor<[12],f32>
  %4 = torch.aten.copy %part, %0, %false : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.bool -> !torch.vtensor<[2,3],f32>
  // expected-error@below {{'torch.aten.view' op has an operand that need not be row-major}}
  %5 = torch.aten.view %4, %size : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[6],f32>
  return %1, %3, %5 : !torch.vtensor<[6],f32>, !torch.vtensor<[12],f32>, !torch.vtensor<[6],f32>
}

// -----
// What strides allow no view of is copied: a reshape of what was permuted is row-major then, and otherwise as it lies.
!x = !torch.vtensor<[4,6],f32>
!p = !torch.vtensor<[2,3,2,2],f32>
func.func @copied(%x: !x {tierup.guard = {dtype = "f32", kind = "array", sizes = [4, 6]}}) -> (!torch.vtensor<[24],f32>, !torch.vtensor<[24],f32>) attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %six = torch.constant.int 6
  %n = torch.constant.int -1
  %flat = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %parts = torch.prim.ListConstruct %two, %two, %two, %three : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %order = torch.prim.ListConstruct %zero, %two, %one, %three : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %size = torch.prim.ListConstruct %four, %six : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %parts : !x, !torch.list<int> -> !torch.vtensor<[2,2,2,3],f32>
  %1 = torch.aten.permute %0, %order : !torch.vtensor<[2,2,2,3],f32>, !torch.list<int> -> !torch.vtensor<[2,2,2,3],f32>
  %2 = torch.aten.reshape %1, %size : !torch.vtensor<[2,2,2,3],f32>, !torch.list<int> -> !x
  %3 = torch.aten.view %2, %flat : !x, !torch.list<int> -> !torch.vtensor<[24],f32>
  %back = torch.prim.ListConstruct %one, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %wide = torch.prim.ListConstruct %two, %three, %two, %two : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %4 = torch.aten.permute %x, %back : !x, !torch.list<int> -> !torch.vtensor<[6,4],f32>
  %5 = torch.aten.reshape %4, %wide : !torch.vtensor<[6,4],f32>, !torch.list<int> -> !p
  // expected-error@below {{'torch.aten.view' op has an operand that need not be row-major}}
  %6 = torch.aten.view %5, %flat : !p, !torch.list<int> -> !torch.vtensor<[24],f32>
  return %3, %6 : !torch.vtensor<[24],f32>, !torch.vtensor<[24],f32>
}
